#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Where a listener listens.
package struct ListenerAddress: Sendable, Hashable {
    /// Empty for every address of the machine.
    let host: String
    /// 0 takes a free one.
    let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address to bind.
    var bound: String { host.isEmpty ? Self.every : host }

    /// Every address: a socket of IPv6 takes connections over IPv4, too, but a kernel without IPv6 makes none.
    private static let every: String = {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET6, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return "0.0.0.0" }
        close(descriptor)
        return "::"
    }()
}
