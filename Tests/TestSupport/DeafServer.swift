#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A server to which clients can connect, but which never sends anything.
package enum DeafServer {
    /// Listens for the duration of a closure, which gets the port on 127.0.0.1.
    package static func with<Result: Sendable>(_ body: @Sendable (Int) async throws -> Result) async throws -> Result {
        // Nothing calls accept: the kernel completes the TCP handshake, and nothing else happens.
        let (descriptor, port) = try Socket.listen()
        defer { close(descriptor) }
        return try await body(port)
    }
}
