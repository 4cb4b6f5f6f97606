package import Postgres

/// The longest wait, long enough for the work of other processes too.
///
/// It is shorter than the time limit of a suite, which would end the test without saying what it waited for.
private let patience = Duration.seconds(120)

extension TestDatabase {
    /// Waits until a condition in SQL holds, evaluating it whenever one of the tables has changed.
    ///
    /// - Throws: ``TestSupportError`` that names the condition when the time is up.
    package func waitUntil(_ condition: String, changes tables: String...) async throws {
        try await withConnection(asAdministrator: true) { connection in
            try connection.script(
                unsafeSQL: """
                    create or replace function public.tell_change() returns trigger language plpgsql as $$
                    begin
                        notify changed;
                        return null;
                    end
                    $$
                    """
            )
            for table in tables {
                // One table lock at a time to avoid a deadlock, since the tables are in use.
                try connection.script(
                    unsafeSQL: """
                        create or replace trigger tell_change after insert or update or delete on \(table)
                        for each statement execute function public.tell_change()
                        """
                )
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Task.sleep(for: patience)
                throw TestSupportError.inVain(condition, patience)
            }
            group.addTask { try await holdsAtAChange(condition) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func holdsAtAChange(_ condition: String) async throws {
        try await Listener.with(administratorConfiguration, channels: ["changed"], logger: .silent) { events in
            for await _ in events {
                let holds = try await withConnection(asAdministrator: true) { connection in
                    try connection.one("select (" + Statement(unsafeSQL: condition) + ")", as: Bool.self)
                }
                if holds { return }
            }
            try Task.checkCancellation()
        }
    }

    /// Waits until some session listens for notifications.
    ///
    /// The server does not announce this state, so it is polled.
    package func waitUntilSomebodyListens() async throws {
        try await waitUntil("a session listens", "query ilike 'listen%'")
    }

    /// Waits until a statement whose text contains `part` is running.
    ///
    /// The server does not announce this state, so it is polled: a notification that the statement itself sends arrives
    /// only after it has ended.
    package func waitUntilRunning(_ part: String) async throws {
        try await waitUntil("a session runs \(part)", "state = 'active' and query like \("%" + part + "%")")
    }

    /// Waits until this many sessions wait for locks, regardless of the holders.
    ///
    /// The server does not announce this state, so it is polled.
    package func waitUntilBlocked(sessions: Int) async throws {
        try await waitUntil("\(sessions) sessions wait for locks", "wait_event_type = 'Lock'", sessions: sessions)
    }

    /// Waits until this many sessions are inside `pg_sleep`.
    package func waitUntilAsleep(sessions: Int) async throws {
        try await waitUntil("\(sessions) sessions sleep", "wait_event = 'PgSleep'", sessions: sessions)
    }

    /// Polls `pg_stat_activity` on a separate connection until this many sessions fulfil the condition.
    private func waitUntil(_ what: String, _ condition: Statement, sessions: Int = 1) async throws {
        try await withConnection(asAdministrator: true) { connection in
            let counted: Statement = """
                select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and
                """
            try await eventually(what, within: patience, every: .milliseconds(5)) {
                try connection.one(counted + " " + condition, as: Int.self) >= sessions
            }
        }
    }
}

extension Connection {
    /// Waits until another session waits for a lock that this one holds.
    ///
    /// The server does not announce this state, so it is polled.
    package func waitUntilSomebodyIsBlocked() async throws {
        let waiting: Statement =
            "select count(*) from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
        try await eventually("a session waits for this one's lock", within: patience, every: .milliseconds(5)) {
            try one(waiting, as: Int.self) > 0
        }
    }
}
