import HTTPService
import Settings

/// Where a listener of the settings listens.
struct ConfiguredAddress {
    /// The setting that holds the address.
    let key: String
    let address: ListenAddress

    /// The address as the listener takes it.
    var listened: ListenerAddress { ListenerAddress(host: address.host, port: address.port) }

    /// Why nobody can listen there, by the name of the setting.
    func error(_ refusal: ListenerRefusal) -> CommandError {
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

    /// Looks whether all of some addresses can be listened at, all at once, before anything is started or told.
    ///
    /// Another process may still be faster: the listeners tell the same.
    ///
    /// - Throws: ``CommandError`` for the first that cannot.
    static func check(_ addresses: ArraySlice<ConfiguredAddress>) async throws {
        guard let first = addresses.first else { return }
        do {
            try await first.listened.withTrial { try await check(addresses.dropFirst()) }
        } catch let refusal as ListenerRefusal {
            throw first.error(refusal)
        }
    }
}
