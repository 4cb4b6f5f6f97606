package import EventThread
import LibPQ
package import Logging

/// One connection to the database, on a thread of its own.
///
/// Everything isolated to a connection runs on its thread, where the calls below are synchronous: a closure that takes
/// an `isolated Connection` runs its statements without a single hop, and nothing else runs between two of its lines
/// without an await. From outside, each call is awaited.
///
/// ```swift
/// try await pool.withConnection { connection in
///     let name = try connection.first("select name from users where id = \(id)", as: String.self)
///     try connection.execute("update users set seen = now() where id = \(id)")
/// }
/// ```
///
/// **Cancellation**: cancelling the task asks the server to stop the running statement, waits until it has stopped and
/// throws `CancellationError`; the connection stays usable. A statement that completes first still returns its result.
///
/// **Deadlines**: each call takes one, by default the configuration's. A statement that exceeds it is stopped in the
/// same way and throws `deadlineExceeded`. If the server does not respond within the grace period either, the
/// connection is dropped: `abandoned`.
///
/// **Child tasks** of a closure isolated to a connection stay on its thread and run serially, between statements; `Task
/// {}` leaves the thread.
package actor Connection {
    nonisolated let thread: EventThread
    nonisolated let configuration: ConnectionConfiguration
    nonisolated let logger: Logger

    var handle: ConnectionHandle?
    var state = ProtocolState()
    var operation = Operation(deadline: nil, isCancellable: true, grace: .seconds(5))
    var savepointDepth = 0
    /// The path to the server; determines which session features are available.
    package internal(set) var route = Route.transactionPooler
    /// The deadline for opening the connection; nil once it is open, or without a limit.
    var openingEnds: ContinuousClock.Instant?
    /// The deadline that the server's own limits are set for; nil if they are not ours or there is none.
    var serverLimit: Duration?
    /// The longest deadline of a call since the transaction began.
    var longestDeadline = Duration.zero
    var prepared = PreparedStatements(capacity: 256)
    /// The server's message as it ended the session while nothing ran, which libpq treats as a notice.
    var lastWord: Diagnostics?
    /// Whether the server refused a write because it, or this session, is read-only.
    ///
    /// A session keeps the mode that it started in, and the server may be a standby by now: a new connection may reach
    /// a server that accepts writes.
    var wasReadOnly = false
    var notificationHandler: (@Sendable (Notification) -> Void)?
    var lossHandler: (@Sendable () -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(
        configuration: ConnectionConfiguration,
        logger: Logger,
        on thread: EventThread? = nil
    ) throws(PostgresError) {
        self.configuration = configuration
        self.logger = logger
        do throws(EventThreadError) {
            self.thread = if let thread { thread } else { try EventThread(name: "postgres") }
        } catch {
            throw PostgresError(.resources, reason: error.description, connectionUsable: false)
        }
    }

    /// Opens a connection for the duration of a closure, outside any pool; opening it ends at the deadline.
    ///
    /// - Throws: What `body` throws; ``PostgresError`` `connectionFailed`, `configuration` or `tlsRequired` if it
    ///   cannot connect.
    @discardableResult
    package static func with<Result: Sendable>(
        _ configuration: ConnectionConfiguration,
        logger: Logger,
        openUntil deadline: ContinuousClock.Instant? = nil,
        on thread: EventThread? = nil,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try Connection(configuration: configuration, logger: logger, on: thread)
        _ = try await connection.open(until: deadline)
        do {
            let result = try await connection.lease(body)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Runs a body on this connection's thread; cancelling the task wakes the thread.
    nonisolated func lease<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(thread) {
                try await body(self)
            }
        } onCancel: {
            // Only a wake-up: the thread itself checks whether its task is cancelled and talks to the server. A late
            // wake-up ends a wait of the next statement, which finds its own task not cancelled and continues to wait.
            thread.wake()
        }
    }

    /// Closes the connection; the server rolls back an open transaction.
    func close() {
        thread.watch(nil)
        state.lose()
        handle = nil
    }

    /// Handles a notice, or a message that libpq treats as one.
    func took(_ notice: Diagnostics) {
        // The first one says why; a pooler adds only that it lost the server.
        if notice.severity == "FATAL" || notice.severity == "PANIC" { lastWord = lastWord ?? notice }
        // At debug level, because a notice may quote anything.
        logger.debug(
            "notice from the server",
            metadata: [
                "severity": "\(notice.severity ?? "")", "sqlstate": "\(notice.sqlState ?? "")",
                "message": "\(notice.message ?? "")",
            ]
        )
    }

    /// Whether the connection can take statements.
    package var isUsable: Bool { state.phase != .lost && state.phase != .connecting }

    /// Whether a transaction is open.
    package var isInTransaction: Bool {
        switch handle?.transactionStatus {
        case .inTransaction, .inFailedTransaction: true
        case .idle, .active, .unknown, nil: false
        }
    }

    /// The server's version as a number, such as 150018.
    package var serverVersion: Int { handle?.serverVersion ?? 0 }

    /// The process id of the server process.
    ///
    /// A pooler makes it up.
    package var backendPID: Int32 { handle?.backendPID ?? 0 }
}

extension Connection {
    /// Whether this connection may be leased again.
    ///
    /// An open transaction is a mistake of the previous lease; dropping the connection rolls it back and discards
    /// everything else that the lease may have left behind.
    func isReusable() -> Bool {
        isUsable && !wasReadOnly && handle?.transactionStatus == .idle
    }
}
