#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The address that a listener binds.
package struct ListenerAddress: Sendable, Hashable {
    /// The host; empty for all addresses of the machine.
    let host: String
    /// The port; 0 takes a free one.
    let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The address to bind.
    var bound: String { host.isEmpty ? Self.every : host }

    /// The wildcard address: an IPv6 socket also accepts IPv4 connections, but a kernel without IPv6 cannot create one.
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
