import Foundation
import HTTPCalls
import Logging
import Synchronization
import TestSupport

@testable import SignInWithApple

/// Clients against a server that says what Apple says, and what it should never say.
enum LyingApple {
    /// A clock that tests move.
    final class Clock: Sendable {
        private let time = Mutex(Claims.now)
        func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
        var now: Date { time.withLock { $0 } }
    }

    static func withClients<Result: Sendable>(
        _ script: @escaping @Sendable (Int, LyingServer.Request) -> LyingServer.Act,
        host: String = "127.0.0.1",
        deadline: Duration = .seconds(20),
        logger: Logger = .silent,
        _ body: (AppleClients, LyingServer, Clock) async throws -> Result
    ) async throws -> Result {
        let clock = Clock()
        return try await LyingServer.with(script) { server in
            try await HTTPCaller.withCaller(
                configuration: .init(retries: .init(attempts: 3, firstPause: .milliseconds(1))),
                logger: logger
            ) { caller in
                let identities = try ["com.example.app", "com.example.web"].map { clientID in
                    try AppleClientIdentity(
                        clientID: clientID,
                        teamID: "TEAM123456",
                        keyID: "KEY1234567",
                        key: .random()
                    )
                }
                let clients = try AppleClients(
                    identities,
                    address: ServiceAddress("http://\(host):\(server.port)", allowPlainHTTP: true),
                    caller: caller,
                    deadline: deadline,
                    logger: logger,
                    now: { clock.now }
                )
                return try await body(clients, server, clock)
            }
        }
    }

    static func refusal(_ code: String, status: String = "400 Bad Request") -> LyingServer.Act {
        LyingServer.reply(status, #"{"error":"\#(code)","error_description":"The code has already been used."}"#)
    }

    static let grant =
        #"{"access_token":"access","token_type":"bearer","expires_in":3600,"refresh_token":"refresh","id_token":"id"}"#

    static let html = LyingServer.reply("200 OK", "<html>maintenance</html>")

    static func form(_ request: LyingServer.Request) -> [String: String] {
        Dictionary(
            request.body.split(separator: "&").map { field in
                let parts = field.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? "" }
                return (parts[0], parts.count > 1 ? parts[1] : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
