import Postgres

extension JobQueue {
    /// Creates partitions ahead, drops those past retention, and deletes old workers and slots.
    ///
    /// Each part is a transaction of its own. A part that is blocked by another session, such as a backup that reads
    /// the history, is left for the next time and does not keep the other parts from being done.
    ///
    /// - Throws: The first part's error, after all have been tried.
    func keepHistory(retention: Duration, on connection: isolated Connection) async throws {
        var failure: (any Error)?
        for part in historyParts(retention: retention) {
            do {
                // Attaching a partition waits for readers of the default partition, and all others would queue behind
                // it.
                try await connection.briefTransaction(patience: .milliseconds(500)) { connection in
                    // One worker at a time; a session-level lock would not work behind a transaction pooler.
                    let isMine = try connection.one(
                        "select pg_try_advisory_xact_lock(hashtextextended(\(self.tables.channel + ".history"), 0))",
                        as: Bool.self
                    )
                    if isMine { try connection.execute(part) }
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func historyParts(retention: Duration) -> [Statement] {
        [
            // Rows past retention have no partition to go to; their partitions would be created and dropped again each
            // time.
            """
            delete from \(tables.schema).job_history_default
            where finished_at < now() - \(retention.seconds)::double precision * interval '1 second'
            """,
            // From the oldest day in the default partition, where rows go while partitions are missing.
            """
            select \(tables.schema).prepare_job_history(first, today - first + 7)
            from (
                select today, greatest(today - 60, least(today, (
                    select (min(finished_at) at time zone 'UTC')::date from \(tables.schema).job_history_default
                ))) as first
                from (select (now() at time zone 'UTC')::date as today) as clock
            ) as days
            """,
            """
            select \(tables.schema).prune_job_history(
                now() - \(retention.seconds)::double precision * interval '1 second', 7
            )
            """,
            "delete from \(tables.workers) where stopped_at < now() - interval '7 days'",
            """
            delete from \(tables.slots) s
            where s.slot < now() - interval '7 days'
            and s.slot < (
                select max(l.slot)
                from \(tables.slots) l
                where l.name = s.name
                and l.slot <= now() + interval '1 minute'
            )
            """,
        ]
    }
}
