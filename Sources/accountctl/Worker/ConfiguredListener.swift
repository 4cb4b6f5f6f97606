import HTTPService
import ServiceLifecycle

/// A listener at a configured address, whose errors name the setting if the address cannot be bound.
struct ConfiguredListener<Listener: Service>: Service {
    let place: ConfiguredAddress
    let listener: Listener

    func run() async throws {
        do {
            try await listener.run()
        } catch let refusal as ListenerRefusal {
            throw place.error(refusal)
        }
    }
}
