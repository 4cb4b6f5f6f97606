package import Postgres

/// For what other processes do as well; less than a suite may take, which would not say what was waited for.
private let patience = Duration.seconds(120)

extension TestDatabase {
    /// Waits until a condition in SQL holds; it is looked at whenever one of the tables has changed.
    ///
    /// - Throws: ``TestSupportError`` that says what was waited for in vain.
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
                // One lock at a time, since the tables are in use.
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
    /// The server tells of that to nobody who does not ask.
    package func waitUntilSomebodyListens() async throws {
        try await waitUntil("a session listens", "query ilike 'listen%'")
    }

    /// Waits until a statement whose text contains `part` is running.
    ///
    /// The server tells of that to nobody who does not ask: what the statement itself notifies is heard when it has
    /// ended.
    package func waitUntilRunning(_ part: String) async throws {
        try await waitUntil("a session runs \(part)", "state = 'active' and query like \("%" + part + "%")")
    }

    /// Waits until so many sessions wait for locks, whoever holds them.
    ///
    /// The server tells of that to nobody who does not ask.
    package func waitUntilBlocked(sessions: Int) async throws {
        try await waitUntil("\(sessions) sessions wait for locks", "wait_event_type = 'Lock'", sessions: sessions)
    }

    /// Waits until so many sessions sleep in a function that waits for something.
    package func waitUntilAsleep(sessions: Int) async throws {
        try await waitUntil("\(sessions) sessions sleep", "wait_event = 'PgSleep'", sessions: sessions)
    }

    /// Looks again and again, by a connection of its own.
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
    /// The server tells of that to nobody who does not ask.
    package func waitUntilSomebodyIsBlocked() async throws {
        let waiting: Statement =
            "select count(*) from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
        try await eventually("a session waits for this one's lock", within: patience, every: .milliseconds(5)) {
            try one(waiting, as: Int.self) > 0
        }
    }
}
