package import Postgres

/// The advisory lock that lets only one process at a time migrate a database.
///
/// The lock is polled with `pg_try_advisory_lock`. A session that waits inside `pg_advisory_lock` holds a snapshot, for
/// which `create index concurrently` of anybody would wait.
package struct MigrationLock: Sendable {
    /// The session that holds the lock.
    package struct Holder: Sendable, Equatable, CustomStringConvertible {
        let session: ServerSession
        let client: String?
        let since: String?

        /// How to end the holder's session.
        ///
        /// If its machine lost its network connection, the server may keep the session for hours, depending on its
        /// configuration; a pooler keeps it as well.
        package var ending: String { "If its program is gone: \(session.ending)" }

        package var description: String {
            var text = session.description
            if let client { text += " from \(client)" }
            if let since { text += ", connected since \(since)" }
            return text
        }
    }

    /// The letters `accountc`, read as a number.
    static let key: Int64 = 0x6163_636F_756E_7463

    /// How long to wait for another process.
    let patience: Duration

    /// Acquires the lock, or reports its holder.
    ///
    /// - Throws: ``MigrationError`` `lockHeld`; `CancellationError`.
    func acquire(on connection: isolated Connection, waiting: (Holder?) -> Void) async throws {
        let deadline = ContinuousClock.now + patience
        var pause: Duration = .milliseconds(20)
        var isFirst = true
        while true {
            if try connection.one("select pg_try_advisory_lock(\(Self.key))", as: Bool.self) { return }
            let holder = try Self.holder(on: connection)
            if ContinuousClock.now >= deadline {
                let ending = holder.map { " \($0.ending)" } ?? ""
                throw MigrationError(
                    .lockHeld,
                    "another process is migrating this database: \(holder?.description ?? "it cannot be seen")",
                    hint: "It holds an advisory lock until its connection ends. Try again when it is done." + ending
                )
            }
            if isFirst { waiting(holder) }
            isFirst = false
            // Jitter, so that processes started together do not keep polling in step.
            try await Task.sleep(for: pause * Double.random(in: 0.5...1.5))
            pause = min(pause * 1.5, .milliseconds(500))
        }
    }

    /// Releases the lock.
    ///
    /// - Throws: ``MigrationError`` `transactionPooler` if this session did not hold the lock, which means that the
    ///   statement that took it ran in another session.
    func release(on connection: isolated Connection) throws {
        if try connection.one("select pg_advisory_unlock(\(Self.key))", as: Bool.self) { return }
        throw MigrationError(
            .transactionPooler,
            "the lock was taken in another session: a pooler in transaction mode lies in between",
            hint: MigrationSession.poolerHint
        )
    }

    /// The current holder of the lock; nil if it is free.
    ///
    /// - Throws: `PostgresError`.
    package static func holder(on connection: isolated Connection) throws -> Holder? {
        let high = Int64(UInt32(truncatingIfNeeded: key >> 32))
        let low = Int64(UInt32(truncatingIfNeeded: key))
        return try connection.query(
            """
            select l.pid, a.usename::text, a.application_name, a.client_addr::text,
                   to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            from pg_locks as l
            left join pg_stat_activity as a on a.pid = l.pid
            where l.locktype = 'advisory'
              and l.granted
              and l.database = (select oid from pg_database where datname = current_database())
              and l.classid::bigint = \(high)
              and l.objid::bigint = \(low)
              and l.objsubid = 1
            limit 1
            """,
            as: (Int, String?, String?, String?, String?).self
        )
        .first
        .map { found in
            let session = ServerSession(pid: found.0, role: found.1, application: found.2)
            return Holder(session: session, client: found.3, since: found.4)
        }
    }
}
