import NIOCore
import Synchronization

/// The body of one attempt, which knows whether a connection has taken it.
///
/// The transport asks for it once the connection stands and the head is out. Nobody can have acted on a request whose
/// body was never asked for, however the attempt ended.
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

    /// Keeps it from being taken from now on; false where it was taken before.
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

    /// Gives the body in one piece.
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var body: RequestBody?

        mutating func next() async throws -> ByteBuffer? {
            defer { body = nil }
            return try body?.take()
        }
    }
}
