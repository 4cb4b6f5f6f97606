import HTTPService
import ServiceLifecycle
import Settings

/// A listener at an address of the settings, which is named where nobody can listen there.
struct ConfiguredListener<Listener: Service>: Service {
    /// The setting that holds the address.
    let key: String
    let address: ListenAddress
    let listener: Listener

    func run() async throws {
        do {
            try await listener.run()
        } catch let refusal as ListenerRefusal {
            throw error(refusal)
        }
    }

    private func error(_ refusal: ListenerRefusal) -> CommandError {
        let place = "\(key): \(address)"
        return switch refusal {
        case .taken:
            CommandError(
                .temporary,
                "\(place) is taken by another process",
                hint: "A second worker on a machine needs addresses of its own, or none."
            )
        case .elsewhere: CommandError(.usage, "\(place) is not one of this machine's addresses")
        case .forbidden: CommandError(.usage, "\(place) may not be listened at by this user")
        case .unknownHost: CommandError(.usage, "\(place) names a host that has no address")
        }
    }
}
