import HTTPCalls
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A TCP server that reads a request and then does exactly what a script says, byte by byte.
final class LyingServer: Sendable {
    /// What to do with one connection's request.
    enum Act: Sendable {
        /// Send these bytes; keep the connection.
        case send(String)
        /// Send these bytes, then close.
        case sendAndClose(String)
        /// Say nothing.
        case silence
    }

    let port: Int
    private let requests = Mutex<[String]>([])
    private let script: @Sendable (Int) -> Act

    private init(port: Int, script: @escaping @Sendable (Int) -> Act) {
        self.port = port
        self.script = script
    }

    var received: [String] { requests.withLock { $0 } }

    func address() throws -> ServiceAddress { try ServiceAddress("http://127.0.0.1:\(port)") }

    static func reply(_ status: String, _ body: String = "", headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// Serves on a free loopback port for the time of `body`.
    static func with<Result: Sendable>(
        _ script: @escaping @Sendable (Int) -> Act,
        _ body: (LyingServer) async throws -> Result
    ) async throws -> Result {
        let holder = Mutex<LyingServer?>(nil)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Handler { text in holder.withLock { $0 }?.take(text) ?? .silence }
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = LyingServer(port: channel.localAddress?.port ?? 0, script: script)
        holder.withLock { $0 = server }
        let result: Result
        do {
            result = try await body(server)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
        return result
    }

    private func take(_ request: String) -> Act {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        return script(number)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var text = ""
        private let act: (String) -> Act

        init(act: @escaping (String) -> Act) { self.act = act }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            guard let end = text.firstRange(of: "\r\n\r\n") else { return }
            let length =
                text.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).trimming()) } ?? 0
            guard text[end.upperBound...].utf8.count >= length else { return }
            let request = text
            text = ""
            switch act(request) {
            case .send(let bytes):
                context.writeAndFlush(NIOAny(ByteBuffer(string: bytes)), promise: nil)
            case .sendAndClose(let bytes):
                context.writeAndFlush(NIOAny(ByteBuffer(string: bytes)), promise: nil)
                context.close(promise: nil)
            case .silence:
                break
            }
        }
    }
}

extension Substring {
    fileprivate func trimming() -> Substring { drop { $0 == " " } }
}

/// A caller with short pauses, for the time of `body`.
func withTestCaller<Result>(
    attempts: Int = 3,
    callsPerHost: Int = 8,
    _ body: (HTTPCaller) async throws -> Result
) async throws -> Result {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return try await HTTPCaller.withCaller(
        configuration: .init(
            connectTimeout: .seconds(2),
            callsPerHost: callsPerHost,
            retries: .init(attempts: attempts, firstPause: .milliseconds(1), longestPause: .milliseconds(2))
        ),
        logger: logger,
        body
    )
}
