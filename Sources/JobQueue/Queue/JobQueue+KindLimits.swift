import Postgres

extension JobQueue {
    /// How many jobs of a kind may run at once according to the code; nil for any number.
    struct KindLimit: Sendable, Hashable {
        let kind: String
        let running: Int?
        let runningPerKey: Int?
    }

    /// Writes the limits of kinds from a worker's code, if this worker is the one that decides them.
    ///
    /// Among the live workers that have a kind, one of the newest release decides, and among those the one that started
    /// last; while a kind has no limit yet, any of those does.
    ///
    /// Does nothing for a worker whose lease has expired. Repeating this corrects the value of a worker of an older
    /// release that had not seen this one yet. So nobody has to hold a lock from one statement to the next, with which
    /// a process suspended in between would keep all others from starting.
    ///
    /// Waits up to `patience` for a row that another session has locked, such as a claim under the limit.
    func syncLimits(
        _ limits: [KindLimit],
        of kinds: Set<String>,
        by worker: Int64,
        patience: Duration,
        on connection: isolated Connection
    ) throws {
        let limits = Dictionary(limits.map { ($0.kind, $0) }, uniquingKeysWith: { $1 })
        let kinds = kinds.sorted()
        try connection.execute(
            """
            insert into \(tables.limits) (kind, max_running, max_running_per_key)
            select code.kind, code.running, code.running_per_key
            from unnest(
                \(kinds)::text[],
                \(kinds.map { limits[$0]?.running.map(Int32.init) })::int[],
                \(kinds.map { limits[$0]?.runningPerKey.map(Int32.init) })::int[]
            ) as code(kind, running, running_per_key)
            cross join \(tables.workers) own
            left join \(tables.limits) old on old.kind = code.kind
            where own.id = \(worker)
            and \(Self.isAlive("own"))
            -- Checked before the row is locked, because claims under the limit would wait for it. A missing row equals
            -- no limit.
            and (old.max_running, old.max_running_per_key) is distinct from (code.running, code.running_per_key)
            and not exists (
                select
                from \(tables.workers) w
                where \(Self.isAlive("w"))
                and code.kind = any(w.kinds)
                and case
                    -- Nobody may claim before the limit exists, and workers of one release agree on it.
                    when old.kind is null then \(Self.release("w")) > \(Self.release("own"))
                    else (\(Self.release("w")), w.started_at, w.id) > (\(Self.release("own")), own.started_at, own.id)
                end
            )
            and \(Self.waits(atMost: patience))
            -- In the order in which claims lock them, which is that of the table.
            order by code.kind collate "C"
            on conflict (kind) do update
            set max_running = excluded.max_running,
                max_running_per_key = excluded.max_running_per_key,
                updated_at = clock_timestamp()
            """
        )
    }

    private static func isAlive(_ worker: Statement) -> Statement {
        "\(worker).stopped_at is null and \(worker).expires_at > clock_timestamp()"
    }

    /// The sort key of a worker's release: the numbers at the start of its version; a version without any is the
    /// oldest.
    private static func release(_ worker: Statement) -> Statement {
        """
        coalesce(
            string_to_array(substring(\(worker).version from '^[0-9]{1,9}(?:[.][0-9]{1,9})*'), '.')::int[],
            '{}'
        )
        """
    }
}
