import Postgres

/// Who has one of the locks that steps take by name: anybody who signs in to the database may take it, and keep it.
struct LockHolder: Sendable, CustomStringConvertible {
    let lock: String
    let session: ServerSession

    var description: String { "\(session) holds \(lock)" }

    /// The names that the locks are made of.
    private static let names = ["deletion_brakes", "hourly_ceiling", "shared_objects"].map { "accountctl." + $0 }

    /// Finds who kept a statement waiting that takes one of them, of several first one that is not of our role.
    ///
    /// The brakes are shared among steps: only who has them alone keeps one waiting.
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
