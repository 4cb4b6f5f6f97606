package import EventThread
import LibPQ
package import Logging

/// One connection to the database, on a thread of its own.
///
/// Everything isolated to a connection runs on its thread, where the calls below are synchronous: a closure that takes
/// an `isolated Connection` runs its statements without a single hop, and nothing comes between two lines of it that
/// have no await. From outside, each call is awaited.
///
/// ```swift
/// try await pool.withConnection { connection in
///     let name = try connection.first("select name from users where id = \(id)", as: String.self)
///     try connection.execute("update users set seen = now() where id = \(id)")
/// }
/// ```
///
/// **Cancellation**: cancelling the task asks the server to stop the running statement, waits until it has stopped and
/// throws `CancellationError`; the connection stays usable. A statement that completes first is returned as the success
/// it is.
///
/// **Deadlines**: each call takes one, by default the configuration's. A statement past it is stopped in the same way
/// and throws `deadlineExceeded`. If the server does not answer within a grace either, the connection is dropped:
/// `abandoned`.
///
/// **Child tasks** of a closure isolated to a connection stay on its thread and run one after the other, between
/// statements; `Task {}` leaves the thread.
package actor Connection {
    nonisolated let thread: EventThread
    nonisolated let configuration: ConnectionConfiguration
    nonisolated let logger: Logger

    var handle: ConnectionHandle?
    var state = ProtocolState()
    var operation = Operation(deadline: nil, isCancellable: true, grace: .seconds(5))
    var savepointDepth = 0
    /// What lies between this program and the server; decides what a session is good for.
    package internal(set) var route = Route.transactionPooler
    /// When opening the connection has to be over; nil when it is, or may take its time.
    var openingEnds: ContinuousClock.Instant?
    /// The deadline for which the server's own limits are set; nil when they are not ours or there is none.
    var serverLimit: Duration?
    /// The longest deadline that a call has named since the transaction began.
    var longestDeadline = Duration.zero
    var prepared = PreparedStatements(capacity: 256)
    /// What the server said as it ended the session while nothing ran, which libpq takes for a notice.
    var lastWord: Diagnostics?
    /// Whether the server refused a write since it, or this session, is read-only.
    ///
    /// A session keeps the mode that it began in, and a server may be a standby by now: another connection may be made
    /// where writes are taken.
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
    /// - Throws: What `body` throws; ``PostgresError`` `connectionFailed`, `configuration` or `tlsRequired` when there
    ///   is none.
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

    /// Runs a body on this connection's thread and has the task's cancellation wake the thread.
    nonisolated func lease<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(thread) {
                try await body(self)
            }
        } onCancel: {
            // Only a wake-up: the thread itself looks whether its task is cancelled and talks to the server. A late one
            // ends a wait of the next statement, which finds its own task not cancelled and goes on waiting.
            thread.wake()
        }
    }

    /// Closes the connection; a transaction left open is rolled back by the server.
    func close() {
        thread.watch(nil)
        state.lose()
        handle = nil
    }

    /// Takes a notice, or what libpq takes for one.
    func took(_ notice: Diagnostics) {
        if notice.severity == "FATAL" || notice.severity == "PANIC" { lastWord = notice }
        // Debug, since a notice may quote anything.
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
    /// Behind a pooler it is made up.
    package var backendPID: Int32 { handle?.backendPID ?? 0 }

    /// A setting that the server reports on its own, such as `TimeZone` or `server_version`.
    func parameterStatus(_ name: String) -> String? { handle?.parameterStatus(name) }
}

extension Connection {
    /// Whether the next lease may have this connection.
    ///
    /// A transaction left open is a mistake of the lease; dropping the connection rolls it back and forgets everything
    /// else the lease may have left behind.
    func isReusable() -> Bool {
        isUsable && !wasReadOnly && handle?.transactionStatus == .idle
    }
}
