import JobQueue
import Postgres

extension Benchmark {
    static let queueEnqueueBulk = Benchmark(
        name: "queue.enqueue.bulk",
        summary: "jobs enqueued 1,000 at a time, against an insert of 1,000 rows by pgbench"
    ) {
        try await QueueEnqueue().bulk()
    }

    static let queueEnqueueSingle = Benchmark(
        name: "queue.enqueue.single",
        summary: "jobs enqueued one by one while the worker of a paused queue listens, against pgbench; and from a pool"
    ) {
        try await QueueEnqueue().oneByOne("queue.enqueue.single", clients: 1, goal: "≥ 0.8 × floor")
    }

    static let queueEnqueueConcurrent = Benchmark(
        name: "queue.enqueue.concurrent",
        summary: "the same over 32 connections"
    ) {
        try await QueueEnqueue().oneByOne("queue.enqueue.concurrent", clients: 32, goal: "≥ 0.7 × floor")
    }
}

private struct QueueEnqueue {
    private let rounds = 5

    func bulk() async throws -> [Figure] {
        try await QueueBench.with { bench in
            var rates: [Double] = []
            var floors: [Double] = []
            for _ in 0..<rounds {
                try await bench.clear()
                floors.append(
                    1000
                        * (try await bench.pgbench(
                            "insert into floor_jobs (args) select ('{\"n\":' || n || '}')::jsonb from generate_series(1, 1000) as n;",
                            transactions: 100
                        ))
                )
                try await bench.clear()
                rates.append(
                    try await bench.withPool { pool in
                        try await bench.fill(1000, pool)
                        let start = ContinuousClock.now
                        try await bench.fill(100_000, pool)
                        return 100_000 / (ContinuousClock.now - start).inSeconds
                    }
                )
            }
            return [
                Figure(
                    name: "queue.enqueue.bulk",
                    unit: "jobs/s",
                    goal: "≥ 0.6 × floor",
                    values: rates,
                    floors: floors
                )
            ]
        }
    }

    /// A worker listens and is woken, but its queue is paused, so that only enqueuing is measured, without a drain that
    /// shares two cores with it.
    ///
    /// A single client waits for the disk most of the time, whose speed changes from one second to the next: its rounds
    /// are short and many.
    func oneByOne(_ name: String, clients: Int, goal: String) async throws -> [Figure] {
        try await QueueBench.with { bench in
            let (rounds, each) = clients == 1 ? (15, 2000) : (self.rounds, 1200)
            var held: [Double] = []
            var leased: [Double] = []
            var floors: [Double] = []
            for _ in 0..<rounds {
                try await bench.clear()
                floors.append(
                    try await bench.pgbench(
                        "insert into floor_jobs (args) values ('{\"n\":1}');",
                        clients: clients,
                        transactions: each
                    )
                )
                try await bench.clear()
                held.append(try await rate(bench, clients: clients, each: each, holdingConnections: true))
                try await bench.clear()
                leased.append(try await rate(bench, clients: clients, each: each, holdingConnections: false))
            }
            return [
                Figure(name: name, unit: "jobs/s", goal: goal, values: held, floors: floors),
                Figure(name: name + ".leased", unit: "jobs/s", goal: "told", values: leased, floors: floors),
            ]
        }
    }

    /// Like pgbench, the clients hold their connections and ask for no ids; or, like a server's requests, they lease a
    /// connection from a pool for each job and read its id.
    private func rate(
        _ bench: QueueBench,
        clients: Int,
        each: Int,
        holdingConnections: Bool
    ) async throws -> Double {
        let waker = JobWaker()
        let queue = JobQueue(waker: waker)
        let job = try bench.jobs(1)
        let queues: Set = ["default"]
        return try await bench.withPool(clients) { enqueuing in
            try await bench.withPool { pool in
                try await pool.withConnection { connection in
                    try queue.pause(queue: "default", reason: nil, on: connection)
                }
                let listener = JobListener(bench.configuration, logger: .silent)
                let worker = try bench.worker(pool, listener: listener) { _, _ in .completed() }
                return try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await worker.run() }
                    group.addTask { await waker.run(in: pool, queue: queue, logger: .silent) }
                    let start = try await withThrowingTaskGroup(of: Void.self) { clientsGroup in
                        // All connections are open, and the worker has started, before the clock does.
                        for _ in 0..<clients {
                            clientsGroup.addTask { _ = try await queue.enqueue(job, in: enqueuing) }
                        }
                        try await clientsGroup.waitForAll()
                        try await bench.untilListening()
                        let start = ContinuousClock.now
                        for _ in 0..<clients {
                            clientsGroup.addTask {
                                guard holdingConnections else {
                                    for _ in 0..<each { try await queue.enqueue(job, in: enqueuing) }
                                    return
                                }
                                try await enqueuing.withConnection { connection in
                                    for _ in 0..<each {
                                        try queue.enqueueAndForget(job, on: connection)
                                        try queue.wake(queues, on: connection)
                                    }
                                }
                            }
                        }
                        try await clientsGroup.waitForAll()
                        return start
                    }
                    let seconds = (ContinuousClock.now - start).inSeconds
                    group.cancelAll()
                    return Double(clients * each) / seconds
                }
            }
        }
    }
}
