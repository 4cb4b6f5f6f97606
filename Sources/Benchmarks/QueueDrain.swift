import JobQueue
import Postgres
import Synchronization

extension Benchmark {
    static let queueDrain = Benchmark(
        name: "queue.drain",
        summary: "20,000 no-op jobs through one worker into the history, against claim 100 then delete 100 by pgbench"
    ) {
        try await QueueDrain().measure().filter { $0.name != "queue.memory" }
    }

    static let queueMemory = Benchmark(
        name: "queue.memory",
        summary: "the most private memory (RssAnon) of the process while its worker drains"
    ) {
        try await QueueDrain().measure().filter { $0.name == "queue.memory" }
    }
}

private struct QueueDrain {
    private let rounds = 5
    private let count = 20_000

    func measure() async throws -> [Figure] {
        try await QueueBench.with { bench in
            var fused: [Double] = []
            var plain: [Double] = []
            var floors: [Double] = []
            var memory: [Double] = []
            for _ in 0..<rounds {
                floors.append(try await floor(bench))
                plain.append(try await drain(bench, fused: false, &memory))
                fused.append(try await drain(bench, fused: true, &memory))
            }
            return [
                Figure(name: "queue.drain", unit: "jobs/s", goal: "≥ 1.0 × floor", values: fused, floors: floors),
                Figure(
                    name: "queue.drain.two-statements",
                    unit: "jobs/s",
                    goal: "for comparison",
                    values: plain,
                    floors: floors
                ),
            ] + (memory.isEmpty ? [] : [Figure(name: "queue.memory", unit: "MB", goal: "≤ 40", values: memory)])
        }
    }

    private func drain(_ bench: QueueBench, fused: Bool, _ memory: inout [Double]) async throws -> Double {
        try await bench.clear()
        let ran = Atomic(0)
        // Sampled while it drains, since its batches are released at the end.
        let most = Mutex<Double?>(nil)
        let seconds = try await bench.withPool { pool in
            try await bench.fill(count, pool)
            let worker = try bench.worker(pool, { $0.fusesClaims = fused }) { _, _ in
                if ran.wrappingAdd(1, ordering: .relaxed).newValue % 500 == 0, let now = QueueBench.privateMemory() {
                    most.withLock { $0 = max($0 ?? 0, now) }
                }
                return .completed()
            }
            let start = ContinuousClock.now
            try await worker.runUntilIdle()
            return (ContinuousClock.now - start).inSeconds
        }
        let kept = try await bench.cluster.psql(
            ["-c", "select count(*) from accountctl.job_history"],
            database: bench.database
        )
        guard ran.load(ordering: .relaxed) == count, kept.hasPrefix("\(count)") else {
            throw BenchmarkError("\(ran.load(ordering: .relaxed)) jobs ran and \(kept) were kept, of \(count)")
        }
        if let most = most.withLock({ $0 }) { memory.append(most) }
        return Double(count) / seconds
    }

    private func floor(_ bench: QueueBench) async throws -> Double {
        try await bench.clear()
        try await bench.psql("insert into floor_jobs (args) select '{\"n\":1}' from generate_series(1, \(count))")
        let rate = try await bench.pgbench(
            """
            with picked as materialized (
                select id from floor_jobs where state = 0 and run_at <= now() order by priority, run_at, id
                limit 100 for update skip locked
            ), taken as (
                update floor_jobs set state = 1, attempt = attempt + 1, worker = 1, lease_until = now() + interval '60 s'
                where id = any(array(select id from picked)) returning id, args
            )
            select array_agg(id)::text as ids, count(args) as n from taken \\gset
            delete from floor_jobs where id = any(:ids::bigint[]) and worker = 1;
            """,
            transactions: count / 100
        )
        return rate * 100
    }
}
