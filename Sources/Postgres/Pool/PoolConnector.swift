import Logging
import Synchronization

/// Makes a pool's connections, and remembers what that told of the server.
final class PoolConnector: Sendable {
    /// What came of an attempt.
    enum Outcome: Sendable {
        case made(Connection)
        /// Whether another attempt is to be made: not when the server said who we are or what we want is wrong.
        case failed(any Error, mayRetry: Bool)
    }

    private struct Lessons {
        /// Found out by a connection.
        var route: Route?
        /// Why the last attempt to connect failed; nil once one went well.
        var failure: PostgresError?
        /// Whether any went well.
        var hasConnected = false
    }

    private let configuration: ConnectionConfiguration
    private let retrying: PoolConfiguration.Retrying
    private let firstFailureLevel: Logger.Level
    private let logger: Logger
    private let lessons = Mutex(Lessons())

    init(_ configuration: PoolConfiguration, logger: Logger) {
        self.configuration = configuration.connection
        retrying = configuration.retriesConnecting
        firstFailureLevel = configuration.firstFailureLevel
        self.logger = logger
    }

    /// Why the last attempt failed that may go well another time; nil once one went well.
    var failure: PostgresError? { lessons.withLock(\.failure) }

    /// Makes a connection for a request that waits until `deadline`.
    func connect(until deadline: ContinuousClock.Instant) async -> Outcome {
        // A little before the end of the request that it is made for, which can then tell why it got none.
        let end = deadline.advanced(by: .zero - min((deadline - .now) / 10, .milliseconds(100)))
        do {
            let connection = try Connection(configuration: configuration, logger: logger)
            let route = try await connection.open(knownRoute: lessons.withLock(\.route), until: end)
            lessons.withLock { lessons in
                // One that could not be found out is asked for again.
                if route != .unknownPooler { lessons.route = route }
                lessons.failure = nil
                lessons.hasConnected = true
            }
            return .made(connection)
        } catch {
            let failure = (error as? PostgresError).flatMap { Self.mayRetry($0) ? $0 : nil }
            // An attempt that was cut off says less than one that the server answered.
            let isCutOff = ContinuousClock.now >= end
            let isFirst = lessons.withLock { lessons in
                let isFirst = lessons.failure == nil
                if !isCutOff || isFirst { lessons.failure = failure ?? lessons.failure }
                return isFirst && failure != nil
            }
            logger.log(
                level: isFirst ? firstFailureLevel : .debug,
                "could not connect to the database",
                metadata: ["reason": "\(error)"]
            )
            return .failed(error, mayRetry: failure != nil && retries)
        }
    }

    /// Whether an attempt that may go well another time is made again.
    private var retries: Bool {
        switch retrying {
        case .always: true
        case .onceConnected: lessons.withLock(\.hasConnected)
        case .never: false
        }
    }

    private static func mayRetry(_ error: PostgresError) -> Bool {
        (error.code == .connectionFailed || error.code == .connectionLost) && error.isTransient
    }
}
