import Postgres

extension JobQueue {
    /// How long sessions with ``controlSettings`` wait for a lock.
    static let patience = Duration.seconds(1)

    /// How long a transaction of the engine's own goes on whose client says nothing: a process that was stopped, or cut
    /// off, in the midst of one would keep what it has locked from all others.
    static let longestSilence = Duration.seconds(5)

    /// That a statement, up to the end of its transaction, waits for the lock of a row no longer than sessions with
    /// ``controlSettings``: behind a transaction pooler they keep none.
    static let waitsBriefly = waits(atMost: patience)

    /// That a statement, up to the end of its transaction, waits for the lock of a row no longer than so.
    ///
    /// A condition that names no column is evaluated once before the first row, so the limit holds for row locks, not
    /// for the table lock.
    static func waits(atMost patience: Duration) -> Statement {
        "(select set_config('lock_timeout', '\(unsafeSQL: "\(patience.wholeMilliseconds)")', true)) is not null"
    }
}

extension Connection {
    /// Runs a transaction of several statements whose locks other workers need soon.
    ///
    /// - Throws: What `body` throws. ``PostgresError``; of a lock that another session keeps for longer than `patience`
    ///   as well, and of a session that the server ended since its client was silent for ``JobQueue/longestSilence``.
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
