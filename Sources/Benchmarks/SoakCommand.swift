import ArgumentParser
import JobQueue
import Postgres
import Synchronization

/// Runs the job engine under a steady load and fails when something grows.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Run jobs at a steady rate and fail when tables, memory or WAL per job grow."
    )

    @Option(help: "How long.")
    var minutes = 60

    @Option(help: "Jobs a second.")
    var rate = 1000

    func validate() throws {
        guard (1...10_080).contains(minutes) else { throw ValidationError("--minutes must lie between 1 and 10080") }
        guard (1...50_000).contains(rate) else { throw ValidationError("--rate must lie between 1 and 50000") }
    }

    private struct Sample: Sendable {
        let minute: Double
        let hotBytes: Int
        let indexBytes: Int
        let memory: Double
        let walPerJob: Double
        let waiting: Int
        /// Jobs that had been added before the table was looked at, and are in neither part of it.
        let lost: Int
    }

    func run() async throws {
        let samples = try await QueueBench.with { bench in try await soak(bench) }
        // The second quarter is warm; what the last one has more is growth.
        let quarter = max(1, samples.count / 4)
        let early = Array(samples.dropFirst(quarter).prefix(quarter))
        let late = Array(samples.suffix(quarter))
        var failures: [String] = []
        func gate(_ name: String, _ most: Double, _ value: (Sample) -> Double) {
            let before = Figure.median(early.map(value))
            let after = Figure.median(late.map(value))
            let holds = after <= before * most
            print("\(name): \(Int(before)) → \(Int(after)), at most × \(most): \(holds ? "holds" : "GROWS")")
            if !holds { failures.append(name) }
        }
        gate("hot table, bytes", 1.5) { Double($0.hotBytes) }
        gate("its indexes, bytes", 1.5) { Double($0.indexBytes) }
        gate("private memory, kB", 1.2) { $0.memory * 1024 }
        gate("WAL per job, bytes", 1.2) { $0.walPerJob }
        // A worker that keeps up has less than a second's work before it; growth alone would not show it that soon.
        let waiting = Figure.median(late.map { Double($0.waiting) })
        print("jobs waiting: \(Int(waiting)), at most \(rate): \(waiting <= Double(rate) ? "holds" : "FALLS BEHIND")")
        if waiting > Double(rate) { failures.append("jobs waiting") }
        let lost = samples.map(\.lost).max() ?? 0
        print("jobs added that are neither waiting nor done: \(lost)")
        if lost > 0 { failures.append("jobs lost") }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    /// How many jobs were added so far.
    private final class Added: Sendable {
        let count = Atomic(0)
    }

    private func soak(_ bench: QueueBench) async throws -> [Sample] {
        let added = Added()
        return try await bench.withPool { pool in
            let worker = try bench.worker(
                pool,
                listener: JobListener(bench.configuration, logger: QueueBench.logger),
                { $0.slots = 200 },
                handler: { _, _ in .completed() }
            )
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                let batch = try bench.jobs(max(1, rate / 10))
                group.addTask {
                    let clock = ContinuousClock()
                    var next = clock.now
                    while !Task.isCancelled {
                        _ = try await bench.queue.enqueue(batch, in: pool)
                        added.count.add(batch.count, ordering: .sequentiallyConsistent)
                        next = next.advanced(by: .milliseconds(100))
                        try await clock.sleep(until: next)
                    }
                }
                var samples: [Sample] = []
                let start = ContinuousClock.now
                var last = try await counters(pool)
                while ContinuousClock.now - start < .seconds(minutes * 60) {
                    try await Task.sleep(for: .seconds(max(2, min(30, minutes * 60 / 16))))
                    let before = added.count.load(ordering: .sequentiallyConsistent)
                    let now = try await counters(pool)
                    let sample = Sample(
                        minute: (ContinuousClock.now - start).inSeconds / 60,
                        hotBytes: now.hot,
                        indexBytes: now.index,
                        memory: QueueBench.privateMemory() ?? 0,
                        walPerJob: Double(now.wal - last.wal) / Double(max(1, now.done - last.done)),
                        waiting: now.waiting,
                        lost: max(0, before - now.done - now.waiting)
                    )
                    last = now
                    samples.append(sample)
                    print(
                        "minute \(Double(Int(sample.minute * 10)) / 10): \(now.done) done, \(sample.waiting) waiting,",
                        "table \(sample.hotBytes / 1024) kB, indexes \(sample.indexBytes / 1024) kB,",
                        "memory \(Int(sample.memory)) MB, \(Int(sample.walPerJob)) bytes of WAL per job"
                    )
                }
                group.cancelAll()
                return samples
            }
        }
    }

    private func counters(_ pool: Pool) async throws -> (hot: Int, index: Int, wal: Int, done: Int, waiting: Int) {
        let row = try await pool.withConnection { connection in
            try connection.one(
                """
                select pg_table_size('accountctl.jobs'), pg_indexes_size('accountctl.jobs'),
                    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
                    (select count(*) from accountctl.job_history), (select count(*) from accountctl.jobs)
                """,
                as: (Int64, Int64, Int64, Int64, Int64).self
            )
        }
        return (Int(row.0), Int(row.1), Int(row.2), Int(row.3), Int(row.4))
    }
}
