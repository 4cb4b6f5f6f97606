#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A port that takes connections and never says a word.
package enum DeafServer {
    /// Listens for the duration of a closure, which gets the port on 127.0.0.1.
    package static func with<Result: Sendable>(_ body: @Sendable (Int) async throws -> Result) async throws -> Result {
        // Never accepted: the kernel completes the handshake, and that is all that happens.
        let (descriptor, port) = try Socket.listen()
        defer { close(descriptor) }
        return try await body(port)
    }
}
