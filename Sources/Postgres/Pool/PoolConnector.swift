import Logging
import Synchronization

/// Opens a pool's connections, and remembers what the attempts showed about the server.
final class PoolConnector: Sendable {
    /// The result of an attempt.
    enum Outcome: Sendable {
        case made(Connection)
        /// `mayRetry` says whether to make another attempt: not if the server refused our credentials or request as
        /// wrong.
        case failed(any Error, mayRetry: Bool)
    }

    private struct Lessons {
        /// The route that a connection detected.
        var route: Route?
        /// Why the last attempt to connect failed; nil once one succeeded.
        var failure: PostgresError?
        /// Whether any attempt succeeded.
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

    /// The last failure that a retry may overcome; nil once an attempt succeeded.
    var failure: PostgresError? { lessons.withLock(\.failure) }

    /// Opens a connection for a request that waits until `deadline`.
    func connect(until deadline: ContinuousClock.Instant) async -> Outcome {
        // Ends a little before the request does, so that the request can report why it got no connection.
        let end = deadline.advanced(by: .zero - min((deadline - .now) / 10, .milliseconds(100)))
        do {
            let connection = try Connection(configuration: configuration, logger: logger)
            let route = try await connection.open(knownRoute: lessons.withLock(\.route), until: end)
            let wasAway = lessons.withLock { lessons in
                // A route that could not be detected is detected again.
                if route != .unknownPooler { lessons.route = route }
                lessons.hasConnected = true
                defer { lessons.failure = nil }
                return lessons.failure != nil
            }
            if wasAway { logger.log(level: min(firstFailureLevel, .notice), "the database can be reached again") }
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

    /// Whether to retry an attempt that may succeed later.
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
