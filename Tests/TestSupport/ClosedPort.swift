#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A port of 127.0.0.1 on which nobody listens, and which no other test's server is given meanwhile.
package enum ClosedPort {
    /// Gives `body` the port.
    package static func with<Result>(_ body: (Int) async throws -> Result) async throws -> Result {
        let (descriptor, port) = try Socket.bind()
        defer { close(descriptor) }
        return try await body(port)
    }
}
