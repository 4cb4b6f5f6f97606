/// When a connection must require TLS: whenever it leaves this machine, unless configured otherwise.
enum TLSRule {
    /// Whether libpq would connect to another machine without requiring TLS, given the parameters in force.
    ///
    /// `prefer` is libpq's default, so it cannot be distinguished from an explicit choice; `disable` can.
    static func allowsPlaintextToOthers(_ parameters: [String: String]) -> Bool {
        ["allow", "prefer"].contains(parameters["sslmode"] ?? "prefer") && leadsElsewhere(parameters)
    }

    /// Whether any host of the parameters is another machine.
    static func leadsElsewhere(_ parameters: [String: String]) -> Bool {
        // If an address is given besides the name, the connection goes to the address.
        let hosts = HostAttempts.parts(parameters["host"])
        let addresses = HostAttempts.parts(parameters["hostaddr"])
        return (0..<max(hosts.count, addresses.count)).contains { index in
            let address = index < addresses.count && !addresses[index].isEmpty ? addresses[index] : nil
            let host = index < hosts.count ? hosts[index] : ""
            return !isLocal(address ?? host)
        }
    }

    /// Whether a host, address or socket directory is on this machine.
    static func isLocal(_ host: String) -> Bool {
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        // Only addresses: a name such as 127.example.com may be anybody's.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
