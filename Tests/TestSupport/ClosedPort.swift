#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A port of 127.0.0.1 on which no process listens; it stays bound, so that no other test's server can take it.
package enum ClosedPort {
    /// Reserves the port for the duration of `body`.
    package static func with<Result>(_ body: (Int) async throws -> Result) async throws -> Result {
        let (descriptor, port) = try Socket.bind()
        defer { close(descriptor) }
        return try await body(port)
    }
}
