import NIOCore
import Synchronization

/// A server on a loopback port that speaks PostgreSQL's protocol as far as a refusal: as poolers do that are full, or
/// that let clients in while the server lets nobody in.
package final class RefusingServer: Sendable {
    /// The port it listens on, on 127.0.0.1.
    package let port: Int
    private let count: Counter

    private init(port: Int, count: Counter) {
        self.port = port
        self.count = count
    }

    /// How many connections it has refused.
    package var refusals: Int { count.value.withLock { $0 } }

    /// Refuses every connection for the time of `body`, as FATAL with this state and message; its first statement where
    /// `letsIn` is said.
    package static func with<Result: Sendable>(
        _ sqlState: String,
        _ message: String,
        letsIn: Bool = false,
        _ body: (RefusingServer) async throws -> Result
    ) async throws -> Result {
        let count = Counter()
        return try await LoopbackServer.with {
            Handler(sqlState, message, letsIn, count)
        } _: { port in
            try await body(RefusingServer(port: port, count: count))
        }
    }

    private final class Counter: Sendable {
        let value = Mutex(0)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var received = ByteBuffer()
        private let refusal: ByteBuffer
        private let letsIn: Bool
        private var isIn = false
        private let count: Counter

        init(_ sqlState: String, _ message: String, _ letsIn: Bool, _ count: Counter) {
            self.letsIn = letsIn
            self.count = count
            let fields = ["SFATAL", "VFATAL", "C\(sqlState)", "M\(message)"].map { "\($0)\0" }.joined() + "\0"
            var refusal = ByteBuffer(string: "E")
            refusal.writeInteger(Int32(fields.utf8.count + 4))
            refusal.writeString(fields)
            self.refusal = refusal
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.writeImmutableBuffer(unwrapInboundIn(data))
            // What a client says once it is in has a letter first; what it says does not matter.
            if isIn { return refuse(context) }
            while let length = received.getInteger(at: received.readerIndex, as: Int32.self),
                var message = received.readSlice(length: Int(length))
            {
                // Requests for encryption, which are no; anything else is the beginning of a session.
                message.moveReaderIndex(forwardBy: 4)
                guard ![80_877_103, 80_877_104].contains(message.readInteger(as: Int32.self)) else {
                    context.writeAndFlush(NIOAny(ByteBuffer(string: "N")), promise: nil)
                    continue
                }
                guard letsIn else { return refuse(context) }
                // AuthenticationOk, then ReadyForQuery.
                isIn = true
                let greeting: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
                context.writeAndFlush(NIOAny(ByteBuffer(bytes: greeting)), promise: nil)
                return
            }
        }

        private func refuse(_ context: ChannelHandlerContext) {
            count.value.withLock { $0 += 1 }
            context.writeAndFlush(NIOAny(refusal), promise: nil)
            context.close(promise: nil)
        }
    }
}
