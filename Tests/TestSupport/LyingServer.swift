import NIOCore
import Synchronization

/// A server on a loopback port that reads HTTP requests and answers each with the exact bytes that a script gives.
///
/// The bytes need not be valid HTTP: tests use truncated replies, closed connections and silence.
package final class LyingServer: Sendable {
    /// One request as it arrived.
    package struct Request: Sendable {
        /// The request line and the header fields as sent.
        let head: String
        /// The body.
        package let body: String

        /// The method.
        package var method: String { String(head.prefix { $0 != " " }) }
        /// The path with its query.
        package var path: String {
            let parts = head.prefix { $0 != "\r\n" && $0 != "\r" }.split(separator: " ")
            return parts.count > 1 ? String(parts[1]) : ""
        }

        /// Returns the value of a header field.
        package func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n").dropFirst()
            where line.lowercased().hasPrefix(name.lowercased() + ":") {
                return String(line.dropFirst(name.count + 1).drop { $0 == " " })
            }
            return nil
        }
    }

    /// The server's reaction to a request.
    package enum Act: Sendable {
        /// Send these bytes and keep the connection open.
        case send(String)
        /// Send these bytes, then close the connection.
        case sendAndClose(String)
        /// Send nothing.
        case silence
    }

    /// The port on 127.0.0.1 on which the server listens.
    package let port: Int
    private let requests = Mutex<[Request]>([])
    private let script: @Sendable (Int, Request) -> Act

    private init(port: Int, script: @escaping @Sendable (Int, Request) -> Act) {
        self.port = port
        self.script = script
    }

    /// All requests so far.
    package var received: [Request] { requests.withLock { $0 } }

    /// Returns an act that sends a well-formed reply.
    package static func reply(_ status: String, _ body: String = "", headers: String = "") -> Act {
        .send("HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Serves on a free port for the duration of `body`.
    ///
    /// - Parameters:
    ///   - script: Returns the reaction to the nth request, counted from 1.
    ///   - body: Uses the server.
    /// - Returns: The result of `body`.
    /// - Throws: Any error of `body`, and an error if the server cannot listen.
    package static func with<Result: Sendable>(
        _ script: @escaping @Sendable (Int, Request) -> Act,
        _ body: (LyingServer) async throws -> Result
    ) async throws -> Result {
        let holder = Mutex<LyingServer?>(nil)
        return try await LoopbackServer.with { @Sendable in
            Handler { request in holder.withLock { $0 }?.take(request) ?? .silence }
        } _: { port in
            let server = LyingServer(port: port, script: script)
            holder.withLock { $0 = server }
            return try await body(server)
        }
    }

    private func take(_ request: Request) -> Act {
        let number = requests.withLock { requests in
            requests.append(request)
            return requests.count
        }
        return script(number, request)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private var text = ""
        private let act: (Request) -> Act

        init(act: @escaping (Request) -> Act) { self.act = act }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            guard let end = text.firstRange(of: "\r\n\r\n") else { return }
            let request = Request(head: String(text[..<end.lowerBound]), body: String(text[end.upperBound...]))
            let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
            guard request.body.utf8.count >= length else { return }
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
