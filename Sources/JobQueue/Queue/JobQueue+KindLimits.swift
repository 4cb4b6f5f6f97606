import Postgres

extension JobQueue {
    /// How many jobs of a kind may run at once, as the code says; nil for any number.
    struct KindLimit: Sendable, Hashable {
        let kind: String
        let running: Int?
        let runningPerKey: Int?
    }

    /// Makes the limits of kinds what a worker's code says, where this worker is the one to decide them: of the live ones
    /// that have the kind, that of the newest release, and of several the one that began last; any of these where there
    /// is no limit yet.
    ///
    /// Does nothing for a worker whose lease ran out. Done again and again it makes good what a worker of an older
    /// release said that had not seen this one yet; so nobody has to hold a lock from one statement to the next, with
    /// which a process that is stopped there would keep all others from beginning.
    ///
    /// A row that another session has locked, as a claim under the limit does, is waited for as long as `patience`.
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
            -- Before the row is locked, which claims under the limit would wait for. Without a row and a limit alike.
            and (old.max_running, old.max_running_per_key) is distinct from (code.running, code.running_per_key)
            and not exists (
                select
                from \(tables.workers) w
                where \(Self.isAlive("w"))
                and code.kind = any(w.kinds)
                and case
                    -- Nobody is to claim before there is a limit, and workers of one release say the same.
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

    /// What the releases of workers are ordered by: the numbers that the version begins with, of which one without any
    /// is the oldest.
    private static func release(_ worker: Statement) -> Statement {
        """
        coalesce(
            string_to_array(substring(\(worker).version from '^[0-9]{1,9}(?:[.][0-9]{1,9})*'), '.')::int[],
            '{}'
        )
        """
    }
}
