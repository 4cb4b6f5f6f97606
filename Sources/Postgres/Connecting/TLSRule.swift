/// When a connection has to insist on TLS: whenever it leaves this machine and nobody said otherwise.
enum TLSRule {
    /// Whether libpq would go to another machine without insisting on TLS, by the parameters in force.
    ///
    /// `prefer` is libpq's own default, so it cannot be told from a wish; `disable` can.
    static func allowsPlaintextToOthers(_ parameters: [String: String]) -> Bool {
        ["allow", "prefer"].contains(parameters["sslmode"] ?? "prefer") && leadsElsewhere(parameters)
    }

    /// Whether some host of the parameters is another machine.
    static func leadsElsewhere(_ parameters: [String: String]) -> Bool {
        // An address given besides the name is where the connection goes.
        let hosts = HostAttempts.parts(parameters["host"])
        let addresses = HostAttempts.parts(parameters["hostaddr"])
        return (0..<max(hosts.count, addresses.count)).contains { index in
            let address = index < addresses.count && !addresses[index].isEmpty ? addresses[index] : nil
            let host = index < hosts.count ? hosts[index] : ""
            return !isLocal(address ?? host)
        }
    }

    /// Whether a host, address or socket folder stays on this machine.
    static func isLocal(_ host: String) -> Bool {
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        // Addresses alone: a name such as 127.example.com is anybody's.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
