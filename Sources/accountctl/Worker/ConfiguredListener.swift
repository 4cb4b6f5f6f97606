import HTTPService
import ServiceLifecycle

/// A listener at an address of the settings, which is named where nobody can listen there.
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
