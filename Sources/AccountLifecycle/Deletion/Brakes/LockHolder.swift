import Postgres

/// The session that has one of the advisory locks of the steps: any role that can connect to the database may take such
/// a lock, and keep it.
struct LockHolder: Sendable, CustomStringConvertible {
    let lock: String
    let session: ServerSession

    var description: String { "\(session) holds \(lock)" }

    /// The names from which the keys of the locks are hashed.
    private static let names = ["deletion_brakes", "hourly_ceiling", "shared_objects"].map { "accountctl." + $0 }

    /// Finds the session that made a statement wait for one of these locks; of several, preferably one of another role.
    ///
    /// Steps share the lock of the brakes, so only an exclusive holder makes one wait.
    static func find(behind statement: String, on connection: isolated Connection) throws -> LockHolder? {
        let names = names.filter { statement.contains("hashtextextended('\($0)'") }
        guard !names.isEmpty else { return nil }
        return try connection.first(
            """
            select k.name, l.pid, a.usename::text, a.application_name
            from unnest(\(names)) as k (name)
            cross join lateral (select hashtextextended(k.name, 0) as number) as h
            join pg_catalog.pg_locks as l
                on l.locktype = 'advisory'
                and l.granted
                and l.classid::bigint = (h.number >> 32) & 4294967295
                and l.objid::bigint = h.number & 4294967295
                and l.objsubid = 1
            join pg_catalog.pg_database as d on d.oid = l.database and d.datname = current_database()
            left join pg_catalog.pg_stat_activity as a on a.pid = l.pid
            where l.mode = 'ExclusiveLock'
               or k.name <> 'accountctl.deletion_brakes'
            order by a.usename is not distinct from current_user, l.pid
            limit 1
            """,
            as: (String, Int, String?, String?).self
        ).map { LockHolder(lock: $0.0, session: ServerSession(pid: $0.1, role: $0.2, application: $0.3)) }
    }
}
