import NIOCore

/// A server on a loopback port that accepts a login and then sends notices without end.
package enum FloodingServer {
    /// Serves for the duration of `body`, which receives the port on 127.0.0.1.
    package static func with<Result>(_ body: (Int) async throws -> Result) async throws -> Result {
        try await LoopbackServer.with({ Handler() }, body)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let notices: ByteBuffer = {
            let fields = "SNOTICE\0VNOTICE\0C00000\0Mhello\0\0"
            var notice = ByteBuffer(string: "N")
            notice.writeInteger(Int32(fields.utf8.count + 4))
            notice.writeString(fields)
            var notices = ByteBuffer()
            for _ in 0..<1000 { notices.writeImmutableBuffer(notice) }
            return notices
        }()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // AuthenticationOk.
            context.write(NIOAny(ByteBuffer(bytes: [0x52, 0, 0, 0, 8, 0, 0, 0, 0])), promise: nil)
            flood(context)
        }

        private func flood(_ context: ChannelHandlerContext) {
            let sent = context.eventLoop.makePromise(of: Void.self)
            sent.futureResult.assumeIsolated().whenSuccess { self.flood(context) }
            context.writeAndFlush(NIOAny(notices), promise: sent)
        }
    }
}
