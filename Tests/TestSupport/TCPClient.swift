import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A connection to a port of 127.0.0.1 over which a test can send arbitrary text.
package final class TCPClient: Sendable {
    private let descriptor: Int32

    private init(port: Int) throws {
        descriptor = try Socket.connect(port: port)
    }

    /// Connects for the duration of a closure.
    package static func with<Result: Sendable>(
        port: Int,
        _ body: (TCPClient) async throws -> Result
    ) async throws -> Result {
        let client = try TCPClient(port: port)
        defer { client.close() }
        return try await body(client)
    }

    /// Sends a text; returns false when the peer has closed the connection.
    @discardableResult
    package func send(_ text: String) -> Bool {
        Socket.sendAll(Array(text.utf8)[...], to: descriptor)
    }

    /// Waits for the next data from the peer; nil when the peer closes without sending anything.
    package func receive() async -> String? {
        // Blocks a separate thread: the peer may need the threads of the task pool to answer.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [descriptor] in
                let bytes = Socket.receive(from: descriptor)
                continuation.resume(returning: bytes.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    /// Shuts the connection down in both directions.
    package func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    deinit {
        systemClose(descriptor)
    }
}

// The member above hides the C function of the same name.
private func systemClose(_ descriptor: Int32) {
    close(descriptor)
}
