package import Logging

/// Hears what `NOTIFY` sends, on a dedicated connection that is made again whenever it is lost.
///
/// ```swift
/// try await Listener.with(configuration, channels: ["jobs"], logger: logger) { events in
///     for await event in events {
///         switch event {
///         case .listening, .notification: work.wake()
///         case .lost, .unavailable: break
///         }
///     }
/// }
/// ```
///
/// A notification is a hint: one that was sent while the connection was away is gone for good. After each
/// ``Event/listening`` look for work once, and poll besides.
package enum Listener {
    /// What a listener tells.
    package enum Event: Sendable {
        /// From now on notifications are heard; some may have been missed until now.
        case listening
        /// Somebody sent a notification.
        case notification(Notification)
        /// The connection is lost, or could not be made. It is tried again.
        case lost(PostgresError)
        /// Notifications cannot work here, such as behind a transaction pooler. The last event.
        case unavailable(PostgresError)
    }

    /// How long to wait between attempts: doubled each time, half of it random.
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

    /// Listens for the duration of a closure.
    ///
    /// Events wait for their reader up to 1,024; beyond that new ones are dropped, since such a reader has every reason
    /// to look.
    ///
    /// - Throws: What `body` throws. Trouble with the connection is an event, not an error.
    package static func with<Result: Sendable>(
        _ configuration: ConnectionConfiguration,
        channels: [String],
        logger: Logger,
        _ body: @Sendable (AsyncStream<Event>) async throws -> Result
    ) async throws -> Result {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(1024))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await run(configuration, channels: channels, logger: logger) {
                    continuation.yield($0)
                }
                continuation.finish()
            }
            do {
                let result = try await body(events)
                group.cancelAll()
                return result
            } catch {
                group.cancelAll()
                throw error
            }
        }
    }

    /// Listens until the task is cancelled, or after an event told that notifications are unavailable.
    ///
    /// `hear` is called on the connection's own thread, in the moment in which a notification arrives; it must not take
    /// long.
    @concurrent
    package static func run(
        _ configuration: ConnectionConfiguration,
        channels: [String],
        logger: Logger,
        _ hear: @escaping @Sendable (Event) -> Void
    ) async {
        let backoff = Backoff()
        var failures = 0
        while !Task.isCancelled {
            let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let failure: PostgresError
            do {
                failure = try await Connection.with(configuration, logger: logger) { connection in
                    if let refusal = refusal(connection.route) { throw refusal }
                    connection.notificationHandler = { hear(.notification($0)) }
                    connection.lossHandler = { signal.finish() }
                    for channel in channels { try connection.execute("listen \(identifier: channel)") }
                    hear(.listening)
                    // Ends with the connection or with the task.
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
                // One that had listened is made again quickly; one that was only let in tells nothing of the next.
                failures = 1
            } catch let error as PostgresError where error.code == .notBehindPooler {
                hear(.unavailable(error))
                return
            } catch let error as PostgresError {
                failure = error
                failures += 1
            } catch {
                return
            }
            logger.info("the listening connection failed", metadata: ["reason": "\(failure)"])
            hear(.lost(failure))
            try? await Task.sleep(for: backoff.wait(afterFailures: failures, random: .random(in: 0...1)))
        }
    }

    /// Why a connection is not listened on.
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
                reason: "a pooler lies in between that could not be asked whether it keeps sessions"
            )
        }
    }
}
