import Postgres

extension JobQueue {
    /// How long sessions with ``controlSettings`` wait for a lock.
    static let patience = Duration.seconds(1)

    /// How long one of the engine's own transactions may be idle before the server ends it.
    ///
    /// A process suspended or cut off in the middle of a transaction would keep its locks from all others.
    static let longestSilence = Duration.seconds(5)

    /// A condition that limits a statement's wait for row locks, until its transaction ends, to that of sessions with
    /// ``controlSettings``: behind a transaction pooler, a statement outside a transaction has no settings.
    static let waitsBriefly = waits(atMost: patience)

    /// A condition that limits a statement's wait for row locks until its transaction ends.
    ///
    /// A condition without columns is evaluated once before the first row, so the limit applies to row locks, not to
    /// the table lock.
    static func waits(atMost patience: Duration) -> Statement {
        "(select set_config('lock_timeout', '\(unsafeSQL: "\(patience.wholeMilliseconds)")', true)) is not null"
    }
}

extension Connection {
    /// Runs a transaction of several statements whose locks other workers need soon.
    ///
    /// - Throws: What `body` throws. ``PostgresError``, also if another session keeps a lock for longer than
    ///   `patience`, or the server ended the session because its client was silent for ``JobQueue/longestSilence``.
    func briefTransaction<Result: Sendable>(
        patience: Duration = JobQueue.patience,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let silence = JobQueue.longestSilence.wholeMilliseconds
        return try await transaction { connection in
            try connection.execute(
                """
                select set_config('lock_timeout', \("\(patience.wholeMilliseconds)"), true),
                    set_config('idle_in_transaction_session_timeout', \("\(silence)"), true)
                """
            )
            return try await body(connection)
        }
    }
}
