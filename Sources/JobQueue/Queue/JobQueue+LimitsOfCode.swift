import Postgres

extension JobQueue {
    struct KindLimit: Sendable, Hashable {
        let kind: String
        let running: Int?
        let runningPerKey: Int?
    }

    /// The workers of newer releases that have a kind.
    struct NewerRelease: Sendable, Hashable {
        /// Whether one of them lives.
        var isAlive: Bool
        /// When the latest of them began, in microseconds since 1970.
        var latestStart: Int64
    }

    /// The kinds that workers of newer releases have or had in the last days.
    ///
    /// Releases are ordered by the numbers that their versions begin with; one without a number is never newer.
    func newerReleases(
        than version: String,
        of kinds: Set<String>,
        on connection: isolated Connection
    ) throws -> [String: NewerRelease] {
        let rows = try connection.query(
            """
            select kind, bool_or(w.stopped_at is null and w.expires_at > clock_timestamp()),
                (extract(epoch from max(w.started_at)) * 1000000)::bigint
            from \(tables.workers) w,
            unnest(w.kinds) as kind
            -- Nearly all are of this release, which is cheaper to see than their order.
            where w.version <> \(version)
            and \(Self.release("w.version")) > \(Self.release("\(version)::text"))
            and kind = any(\(kinds.sorted())::text[])
            group by kind
            """,
            as: (String, Bool, Int64).self
        )
        return Dictionary(
            uniqueKeysWithValues: rows.map { ($0.0, NewerRelease(isAlive: $0.1, latestStart: $0.2)) }
        )
    }

    /// Brings the limits of kinds to what a release says, but for those that a worker of a newer one has as well, and
    /// returns the others; in the caller's transaction.
    ///
    /// In a rolling deploy processes of the old release start afresh, too.
    func say(
        _ limits: [KindLimit],
        of kinds: Set<String>,
        as version: String,
        on connection: isolated Connection
    ) throws -> Set<String> {
        // Another worker adds itself after it has said its limits: whoever comes next must see both, or neither.
        try connection.execute(
            "select pg_advisory_xact_lock(hashtextextended(\(tables.channel + ".limits"), 0))"
        )
        let newer = try newerReleases(than: version, of: kinds, on: connection)
        let own = kinds.filter { newer[$0]?.isAlive != true }
        let limits = limits.filter { own.contains($0.kind) }
        // What an older release limited and this one does not.
        try connection.execute(
            """
            update \(tables.limits)
            set max_running = null, max_running_per_key = null, updated_at = clock_timestamp()
            where kind = any(\(own.subtracting(limits.map(\.kind)).sorted())::text[])
            and coalesce(max_running, max_running_per_key) is not null
            """
        )
        try connection.execute(
            """
            insert into \(tables.limits) as l (kind, max_running, max_running_per_key)
            select *
            from unnest(
                \(limits.map(\.kind))::text[],
                \(limits.map { $0.running.map(Int32.init) })::int[],
                \(limits.map { $0.runningPerKey.map(Int32.init) })::int[]
            ) as given(kind, running, running_per_key)
            order by kind
            on conflict (kind) do update
            set max_running = excluded.max_running,
                max_running_per_key = excluded.max_running_per_key,
                updated_at = clock_timestamp()
            where (l.max_running, l.max_running_per_key)
                is distinct from (excluded.max_running, excluded.max_running_per_key)
            """
        )
        return own
    }

    /// The numbers that a version begins with, to compare by; null without any.
    private static func release(_ version: Statement) -> Statement {
        "string_to_array(substring(\(version) from '^[0-9]{1,9}(?:[.][0-9]{1,9})*'), '.')::int[]"
    }
}
