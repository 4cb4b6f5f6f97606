import NIOCore
import Synchronization

/// The body of one attempt, which records whether a connection has taken it.
///
/// The transport requests the body once the connection is established and the head is sent. A service cannot have acted
/// on a request whose body was never requested, however the attempt ended.
final class RequestBody: AsyncSequence, Sendable {
    private enum State {
        case waiting, taken, withdrawn
    }

    /// The length in bytes.
    let length: Int
    private let buffer: ByteBuffer
    private let state = Mutex(State.waiting)

    init(_ bytes: [UInt8]) {
        length = bytes.count
        buffer = ByteBuffer(bytes: bytes)
    }

    /// Prevents the body from being taken from now on; false if it was already taken.
    func withdraw() -> Bool {
        state.withLock { state in
            if case .taken = state { return false }
            state = .withdrawn
            return true
        }
    }

    private func take() throws -> ByteBuffer {
        try state.withLock { state in
            if case .withdrawn = state { throw CancellationError() }
            state = .taken
            return buffer
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

    /// Returns the body as a single buffer.
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var body: RequestBody?

        mutating func next() async throws -> ByteBuffer? {
            defer { body = nil }
            return try body?.take()
        }
    }
}
