import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A server that accepts connections and resets each one when its first bytes arrive, as firewalls do.
package enum CuttingServer {
    /// Serves for the duration of a closure, which gets the port on 127.0.0.1.
    package static func with<Result: Sendable>(_ body: @Sendable (Int) async throws -> Result) async throws -> Result {
        let (listener, port) = try Socket.listen()
        Thread.detachNewThread { CuttingServer.serve(listener) }
        defer { shutdown(listener, Int32(SHUT_RDWR)) }
        return try await body(port)
    }

    private static func serve(_ listener: Int32) {
        defer { close(listener) }
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            var slot = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            _ = poll(&slot, 1, 10_000)
            // Closing a connection that has unread data makes the kernel send a reset.
            close(client)
        }
    }
}
