import HTTPCalls
import Logging
import TestSupport

/// Gives `body` a caller with short pauses between attempts.
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

extension LyingServer {
    func address() throws -> ServiceAddress { try ServiceAddress("http://127.0.0.1:\(port)") }
}
