package import Logging

/// Receives notifications on a dedicated connection that is reopened whenever it is lost.
///
/// ```swift
/// await Listener.run(configuration, channels: ["jobs"], logger: logger) { event in
///     switch event {
///     case .listening, .notification: work.wake()
///     case .lost, .unavailable: break
///     }
/// }
/// ```
///
/// A notification is a hint: one sent while the connection was away is lost for good. After each ``Event/listening``
/// look for work once, and also poll.
package enum Listener {
    /// An event of a listener.
    package enum Event: Sendable {
        /// Notifications arrive from now on; earlier ones may have been missed.
        case listening
        /// A notification arrived.
        case notification(Notification)
        /// The connection is lost, or could not be made; it will be retried.
        case lost(PostgresError)
        /// Notifications cannot work here, for example behind a transaction pooler. This is the last event.
        case unavailable(PostgresError)
    }

    /// The wait between attempts: doubled each time, half of it random.
    struct Backoff: Sendable {
        /// The wait after the first failure.
        let initial = Duration.milliseconds(100)
        /// The longest wait.
        let maximum = Duration.seconds(10)

        func wait(afterFailures count: Int, random: Double) -> Duration {
            var wait = initial
            for _ in 1..<max(min(count, 20), 1) where wait < maximum { wait *= 2 }
            return min(wait, maximum) * (0.5 + 0.5 * random)
        }
    }

    /// Listens until the task is cancelled, or until an event says that notifications are unavailable.
    ///
    /// `hear` is called on the connection's own thread as soon as a notification arrives; it must return quickly.
    @concurrent
    package static func run(
        _ configuration: ConnectionConfiguration,
        channels: [String],
        logger: Logger,
        _ hear: @escaping @Sendable (Event) -> Void
    ) async {
        let backoff = Backoff()
        var failures = 0
        var told: Set<Failure> = []
        while !Task.isCancelled {
            let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let failedBefore = failures
            let failure: PostgresError
            do {
                failure = try await Connection.with(configuration, logger: logger) { connection in
                    if let refusal = refusal(connection.route) { throw refusal }
                    connection.notificationHandler = { hear(.notification($0)) }
                    connection.lossHandler = { signal.finish() }
                    for channel in channels { try connection.execute("listen \(identifier: channel)") }
                    // Anyone who read of a failure should also read that it is over.
                    if failedBefore > 0 {
                        logger.info("the listening connection is open again", metadata: ["failed": "\(failedBefore)"])
                    }
                    hear(.listening)
                    // Ends when the connection is lost or the task is cancelled.
                    for await _ in signals {}
                    connection.notificationHandler = nil
                    try Task.checkCancellation()
                    return PostgresError(
                        .connectionLost,
                        diagnostics: connection.lastWord,
                        reason: "the listening connection was lost",
                        connectionUsable: false
                    )
                }
                // A connection that had listened is reopened quickly; merely being let in says nothing about the next
                // one.
                failures = 1
                told = []
            } catch let error as PostgresError where error.code == .notBehindPooler {
                hear(.unavailable(error))
                return
            } catch let error as PostgresError {
                failure = error
                failures += 1
            } catch {
                return
            }
            // An outage may last for hours. Why the connection was lost is seldom why it cannot be opened again.
            let isNew = told.insert(Failure(code: failure.code, state: failure.sqlState)).inserted
            logger.log(
                level: isNew || failures % 100 == 1 ? .info : .debug,
                "the listening connection failed",
                metadata: ["reason": "\(failure)", "times": "\(failures)"]
            )
            hear(.lost(failure))
            try? await Task.sleep(for: backoff.wait(afterFailures: failures, random: .random(in: 0...1)))
        }
    }

    /// A kind of failure.
    private struct Failure: Hashable {
        let code: PostgresError.Code
        let state: SQLState?
    }

    /// The reason not to listen over a route; nil if there is none.
    private static func refusal(_ route: Route) -> PostgresError? {
        switch route {
        case .direct, .sessionPooler: nil
        case .transactionPooler:
            PostgresError(
                .notBehindPooler,
                reason: "LISTEN does not work behind a transaction pooler: use the direct or the session port, 5432"
            )
        case .unknownPooler:
            PostgresError(
                .connectionFailed,
                reason: "there is a pooler in between, and whether it keeps sessions could not be found out"
            )
        }
    }
}
