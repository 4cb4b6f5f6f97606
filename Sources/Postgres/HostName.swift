/// Tells this machine from others.
enum HostName {
    /// Whether a host, address or socket folder of a connection string stays on this machine.
    static func isLocal(_ host: String) -> Bool {
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") { return true }
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        // Addresses alone: a name such as 127.example.com is anybody's.
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
