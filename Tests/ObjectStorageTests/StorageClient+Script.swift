import HTTPCalls
import Logging
import ObjectStorage
import Sealing
import TestSupport

extension StorageClient {
    /// Gives `body` a client of a server that answers as a script says.
    static func with<Result: Sendable>(
        _ script: @escaping @Sendable (Int, LyingServer.Request) -> LyingServer.Act,
        _ body: (StorageClient, LyingServer) async throws -> Result
    ) async throws -> Result {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return try await LyingServer.with(script) { server in
            try await HTTPCaller.withCaller(
                configuration: .init(retries: .init(attempts: 2, firstPause: .milliseconds(1))),
                logger: logger
            ) { caller in
                let client = StorageClient(
                    address: try ServiceAddress("http://127.0.0.1:\(server.port)/storage/v1"),
                    key: try StorageKey(Secret("sb_secret_test")),
                    caller: caller,
                    deadline: .seconds(10)
                )
                return try await body(client, server)
            }
        }
    }
}
