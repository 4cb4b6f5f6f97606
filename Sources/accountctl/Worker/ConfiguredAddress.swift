import HTTPService
import Settings

/// The configured address of a listener.
struct ConfiguredAddress {
    /// The setting that holds the address.
    let key: String
    let address: ListenAddress

    /// The address in the listener's type.
    var listened: ListenerAddress { ListenerAddress(host: address.host, port: address.port) }

    /// The error for an address that cannot be bound, which names the setting.
    func error(_ refusal: ListenerRefusal) -> CommandError {
        let place = "\(key): \(address)"
        return switch refusal {
        case .taken:
            CommandError(
                .temporary,
                "\(place) is in use by another process",
                hint: "A second worker on the same machine needs its own addresses, or none."
            )
        case .elsewhere: CommandError(.usage, "\(place) is not one of this machine's addresses")
        case .forbidden: CommandError(.usage, "\(place) cannot be used by this user")
        case .unknownHost: CommandError(.usage, "\(place) names a host that has no address")
        }
    }

    /// Binds all addresses at once on trial, before anything is started or announced.
    ///
    /// Another process may still bind one of them before the listeners do: then the listeners report the same error.
    ///
    /// - Throws: ``CommandError`` for the first address that cannot be bound.
    static func check(_ addresses: ArraySlice<ConfiguredAddress>) async throws {
        guard let first = addresses.first else { return }
        do {
            try await first.listened.withTrial { try await check(addresses.dropFirst()) }
        } catch let refusal as ListenerRefusal {
            throw first.error(refusal)
        }
    }
}
