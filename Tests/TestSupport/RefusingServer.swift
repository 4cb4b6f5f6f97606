import NIOCore
import Synchronization

/// A server on a loopback port that speaks just enough of the PostgreSQL protocol to refuse a connection.
///
/// This is how a full pooler behaves, or one that admits clients while the server behind it admits nobody.
package final class RefusingServer: Sendable {
    /// The port on 127.0.0.1 on which the server listens.
    package let port: Int
    private let count: Counter

    private init(port: Int, count: Counter) {
        self.port = port
        self.count = count
    }

    /// The number of connections refused so far.
    package var refusals: Int { count.value.withLock { $0 } }

    /// Refuses every connection for the duration of `body`, with a FATAL error of this SQLSTATE and message.
    ///
    /// With `letsIn`, clients may log in and their first statement is refused instead.
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
            // Messages after the login begin with a type byte instead of a length; their content does not matter.
            if isIn { return refuse(context) }
            while let length = received.getInteger(at: received.readerIndex, as: Int32.self),
                var message = received.readSlice(length: Int(length))
            {
                // Requests for TLS or GSSAPI encryption are answered with N (no); any other message starts a session.
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
