import JobQueue
import Postgres
import Synchronization

extension Benchmark {
    static let queueWakeupMedian = Benchmark(
        name: "queue.wakeup.p50",
        summary: "from the call that enqueues to the start of the handler, idle, against LISTEN and claim by the driver"
    ) {
        try await QueueWakeup().measure().filter { $0.name == "queue.wakeup.p50" }
    }

    static let queueWakeupTail = Benchmark(
        name: "queue.wakeup.p99",
        summary: "the same, at the 99th percentile"
    ) {
        try await QueueWakeup().measure().filter { $0.name == "queue.wakeup.p99" }
    }
}

private struct QueueWakeup {
    private let rounds = 5
    private let samples = 200

    func measure() async throws -> [Figure] {
        try await QueueBench.with { bench in
            var medians: [Double] = []
            var tails: [Double] = []
            var floorMedians: [Double] = []
            var floorTails: [Double] = []
            for _ in 0..<rounds {
                try await bench.clear()
                let floor = try await raw(bench).sorted()
                floorMedians.append(floor[samples / 2])
                floorTails.append(floor[samples * 99 / 100])
                try await bench.clear()
                let ours = try await engine(bench).sorted()
                medians.append(ours[samples / 2])
                tails.append(ours[samples * 99 / 100])
            }
            return [
                Figure(
                    name: "queue.wakeup.p50",
                    unit: "ms",
                    goal: "≤ 1.0",
                    values: medians,
                    floors: floorMedians
                ),
                Figure(name: "queue.wakeup.p99", unit: "ms", goal: "≤ 4", values: tails, floors: floorTails),
            ]
        }
    }

    /// One job at a time, each a moment after the worker became idle.
    private func engine(_ bench: QueueBench) async throws -> [Double] {
        let waker = JobWaker()
        let queue = JobQueue(waker: waker)
        let job = try bench.jobs(1)
        let (starts, started) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        return try await bench.withPool(1) { enqueuing in
            try await bench.withPool { pool in
                let listener = JobListener(bench.configuration, logger: .silent)
                let worker = try bench.worker(pool, listener: listener) { _, _ in
                    started.yield(.now)
                    return .completed()
                }
                return try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await worker.run() }
                    group.addTask { await waker.run(in: pool, queue: queue, logger: .silent) }
                    var times: [Double] = []
                    var iterator = starts.makeAsyncIterator()
                    for number in -20..<samples {
                        try await Task.sleep(for: .milliseconds(7))
                        let start = ContinuousClock.now
                        try await queue.enqueue(job, in: enqueuing)
                        guard let end = await iterator.next() else { break }
                        if number >= 0 { times.append((end - start).inSeconds * 1000) }
                    }
                    group.cancelAll()
                    return times
                }
            }
        }
    }

    /// Only an insert with a notify in one statement, a listener and a claim, through the same driver, so that the
    /// difference is the engine alone.
    private func raw(_ bench: QueueBench) async throws -> [Double] {
        let (events, heard) = AsyncStream.makeStream(of: Listener.Event.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await Listener.run(bench.configuration, channels: ["floor"], logger: .silent) { heard.yield($0) }
            }
            defer { group.cancelAll() }
            return try await bench.withPool(2) { pool in
                var iterator = events.makeAsyncIterator()
                _ = await iterator.next()
                var times: [Double] = []
                for number in -20..<samples {
                    try await Task.sleep(for: .milliseconds(7))
                    let start = ContinuousClock.now
                    _ = try await pool.withConnection { connection in
                        try connection.execute(
                            "with job as (insert into floor_jobs (args) values ('{}')) select pg_notify('floor', '')"
                        )
                    }
                    _ = await iterator.next()
                    _ = try await pool.withConnection { connection in
                        try connection.query(
                            """
                            with picked as materialized (
                                select id from floor_jobs where state = 0 order by priority, run_at, id
                                limit 10 for update skip locked
                            )
                            update floor_jobs set state = 1, worker = 1 where id = any(array(select id from picked))
                            returning id
                            """,
                            as: Int64.self
                        )
                    }
                    if number >= 0 { times.append((ContinuousClock.now - start).inSeconds * 1000) }
                }
                return times
            }
        }
    }
}
