import JobQueue
import Postgres

extension Benchmark {
    static let queueClaimPinned = Benchmark(
        name: "queue.claim.pinned",
        summary:
            "claim time while another session holds an old snapshot, 100,000 jobs through: last tenth by first tenth"
    ) {
        try await QueueClaim().pinned()
    }

    static let queueClaimCrowded = Benchmark(
        name: "queue.claim.crowded",
        summary:
            "claim time beside a million scheduled, of an unknown kind and finished jobs each, by that of an empty table"
    ) {
        try await QueueClaim().crowded()
    }
}

/// The claim statement alone, in batches of 100, with or without the remembered bounds that a worker keeps.
private struct QueueClaim {
    private let rounds = 5

    func pinned() async throws -> [Figure] {
        try await QueueBench.with { bench in
            var ratios: [Double] = []
            for _ in 0..<rounds { ratios.append(try await pinned(bench, isBounded: true)) }
            return [
                Figure(name: "queue.claim.pinned", unit: "ratio", goal: "≤ 1.3", values: ratios),
                // Only once, since each claim scans all jobs before it.
                Figure(
                    name: "queue.claim.pinned.unbounded",
                    unit: "ratio",
                    goal: "for comparison",
                    values: [try await pinned(bench, isBounded: false)]
                ),
            ]
        }
    }

    private func pinned(_ bench: QueueBench, isBounded: Bool) async throws -> Double {
        try await bench.clear()
        let times = try await bench.withPool { pool in
            try await pool.withConnection { holder in
                try await holder.transaction(isolation: .repeatableRead) { holder in
                    _ = try holder.one("select count(*) from accountctl.jobs", as: Int.self)
                    return try await pool.withConnection { connection in
                        try claims(bench, 1000, refill: true, isBounded: isBounded, on: connection)
                    }
                }
            }
        }
        return Figure.median(Array(times.suffix(100))) / Figure.median(Array(times.prefix(100)))
    }

    func crowded() async throws -> [Figure] {
        try await QueueBench.with { bench in
            let empty = try await bench.beside("empty")
            try await bench.psql(
                """
                insert into accountctl.jobs (queue, kind, state, run_at)
                select 'default', 'bench.nothing', 'scheduled', now() + interval '1 day' from generate_series(1, 1000000)
                """
            )
            try await bench.psql(
                "insert into accountctl.jobs (queue, kind) select 'default', 'unknown' from generate_series(1, 1000000)"
            )
            try await bench.psql(
                """
                insert into accountctl.job_history (id, lease, run_at, created_at, outcome, priority, attempt, crashes,
                    args_version, queue, kind, args)
                select n, n, now(), now(), 'completed', 5, 1, 0, 1, 'default', 'bench.nothing', '{}'
                from generate_series(1, 1000000) n
                """
            )
            // Otherwise the server would still write these rows while the claims are timed.
            try await bench.cluster.psql(["-c", "checkpoint"])
            var (full, floors): ([Double], [Double]) = ([], [])
            // In turns, since the speed of a machine changes over minutes.
            for _ in 0..<rounds {
                floors.append(try await median(empty))
                full.append(try await median(bench))
            }
            return [
                Figure(name: "queue.claim.crowded", unit: "ms", goal: "≤ 1.2 × floor", values: full, floors: floors)
            ]
        }
    }

    private func median(_ bench: QueueBench) async throws -> Double {
        try await bench.withPool { pool in
            try await pool.withConnection { connection in
                let median = Figure.median(try claims(bench, 100, refill: false, on: connection))
                try connection.execute("vacuum accountctl.jobs")
                return median
            }
        }
    }

    /// The time of each claim in milliseconds.
    ///
    /// Every claimed job is finished before the next claim.
    private func claims(
        _ bench: QueueBench,
        _ count: Int,
        refill: Bool,
        isBounded: Bool = true,
        on connection: isolated Connection
    ) throws -> [Double] {
        let worker = try connection.one(
            """
            insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
            values ('bench', '1', 100, '{}', '{}', 'infinity')
            returning id
            """,
            as: Int64.self
        )
        let batch = try bench.jobs(100)
        if !refill { for _ in 0..<count { try bench.queue.enqueue(batch, on: connection) } }
        if refill { for _ in 0..<10 { try bench.queue.enqueue(batch, on: connection) } }
        var bounds = ClaimBounds()
        var times: [Double] = []
        for _ in 0..<count {
            if refill { try bench.queue.enqueue(batch, on: connection) }
            let start = ContinuousClock.now
            let known = isBounded ? bounds.bounds(now: start) : nil
            let claimed = try bench.queue.claim(
                QueueBench.lanes,
                JobQueue.ClaimRequest(worker: worker, limit: 100, bounds: known),
                on: connection
            )
            times.append((ContinuousClock.now - start).inSeconds * 1000)
            bounds.claimed(claimed, isFull: claimed.count == 100, wasBounded: known != nil, now: start)
            let ended = JobQueue.Ending(outcome: .completed, jobs: claimed.map(\.leased))
            guard try bench.queue.finish(ended, on: connection).count == 100 else {
                throw BenchmarkError("a claim of a hundred came back short")
            }
        }
        return times
    }
}
