/// The addresses on which HTTP is served.
package struct ListenerSettings: Sendable {
    package let admin: ListenAddress?
    package let publicAddress: ListenAddress?

    init(_ reader: inout SettingsReader) {
        admin = reader.optional(
            "listen.admin",
            .address,
            "Address for health, metrics and the wake-up. Keep it private."
        )
        publicAddress = reader.optional("listen.public", .address, "Address that receives Apple's notifications.")
        if let admin, admin == publicAddress, admin.port != 0 {
            reader.reportConflict("listen.public", "the public listener needs another address than the admin one")
        }
    }
}

/// A host and port to listen on.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// The host; empty for all addresses of the machine.
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:8080`, `[::1]:8080` or `:8080`, which means all addresses of the machine.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension SettingForm where Value == ListenAddress {
    /// A host and port.
    static var address: Self {
        .init(expected: "an address such as 127.0.0.1:8080, [::1]:8080 or :8080") { ListenAddress($0) }
    }
}
