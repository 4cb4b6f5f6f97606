package import Postgres

/// Something that keeps vacuums from removing dead rows of this database.
package struct DeadRowKeeper: Sendable, Hashable {
    /// A session, a prepared transaction, a standby or a slot, in words.
    package let name: String
    /// The statement that ends it; nil for a standby, which would reconnect.
    package let ending: String?

    /// Everything that keeps dead rows, with its start time and transaction age as far as they are known.
    ///
    /// Between two statements, a transaction that has written has no snapshot, yet keeps rows from its own number on,
    /// as does every snapshot taken meanwhile. That includes the snapshot of the session that runs this query, which is
    /// left out. Vacuums do not wait for one another, though each has a snapshot.
    ///
    /// A transaction that writes in another database, where `is_here` is false, keeps nothing here by itself, but a
    /// snapshot taken here meanwhile reaches back as far as it does.
    static let all: Statement = """
        select
            a.is_here,
            case when a.backend_type is distinct from 'walsender' then a.pid end as pid,
            a.usename::text as role,
            a.application_name as application,
            case when not a.is_here then a.datname::text end as database,
            -- Anything with a process is named as its session, except a standby's.
            concat('the standby ', a.application_name) as name,
            null as ending,
            a.xact_start as since,
            greatest(age(a.backend_xid), case when a.is_here then age(a.backend_xmin) end) as age,
            a.backend_xid is not null as has_written
        from (
            select *, coalesce(datname, current_database()) = current_database() as is_here
            from pg_stat_activity
        ) as a
        where (a.backend_xid is not null or a.is_here and a.backend_xmin is not null)
          and a.pid <> pg_backend_pid()
          and not exists (
              select
              from pg_stat_progress_vacuum as v
              where v.pid = a.pid
          )
        union all
        select
            database = current_database(),
            null,
            null,
            null,
            null,
            concat('the prepared transaction ', gid, ' in the database ' || nullif(database, current_database())),
            format('rollback prepared %L', gid),
            prepared,
            age(transaction),
            true
        from pg_prepared_xacts
        union all
        select
            true,
            null,
            null,
            null,
            null,
            concat('the replication slot ', slot_name),
            format('select pg_drop_replication_slot(%L)', slot_name),
            null,
            age(xmin),
            false
        from pg_replication_slots
        where xmin is not null
        """
}

extension JobQueue {
    /// Finds what keeps the oldest dead rows.
    ///
    /// - Throws: ``PostgresError``.
    package func oldestKeeper(on connection: isolated Connection) throws -> DeadRowKeeper? {
        try connection.first(
            """
            with found as (\(DeadRowKeeper.all))
            select k.pid, k.role, k.application, k.database, k.name, k.ending
            from found as k
            where k.is_here
               or k.age <= (select max(age) from found where is_here)
            order by k.age desc, k.has_written desc, k.since
            limit 1
            """,
            as: (Int?, String?, String?, String?, String, String?).self
        )
        .map { pid, role, application, database, name, ending in
            guard let pid else { return DeadRowKeeper(name: name, ending: ending) }
            let session = ServerSession(pid: pid, role: role, application: application, database: database)
            return DeadRowKeeper(name: session.description, ending: session.ending)
        }
    }
}
