import ArgumentParser
import JobQueue
import Postgres
import Synchronization

/// Runs the job engine under a steady load and fails if a resource grows.
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Run jobs at a steady rate and fail when tables, memory or WAL and commits per job grow."
    )

    @Option(help: "How long.")
    var minutes = 60

    @Option(help: "Jobs a second.")
    var rate = 1000

    func validate() throws {
        guard (1...10_080).contains(minutes) else { throw ValidationError("--minutes must be between 1 and 10080") }
        guard (1...50_000).contains(rate) else { throw ValidationError("--rate must be between 1 and 50000") }
    }

    func run() async throws {
        let samples = try await QueueBench.with { bench in try await soak(bench) }
        let gates = SoakGate.all(samples, rate: rate)
        for gate in gates { print(gate.line) }
        if !gates.allSatisfy(\.holds) { throw ExitCode.failure }
    }

    /// The number of jobs added so far.
    private final class Added: Sendable {
        let count = Atomic(0)
    }

    private func soak(_ bench: QueueBench) async throws -> [SoakSample] {
        let added = Added()
        return try await bench.withPool { pool in
            let worker = try bench.worker(
                pool,
                listener: JobListener(bench.configuration, logger: .silent),
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
                var samples: [SoakSample] = []
                let start = ContinuousClock.now
                var last = try await counters(pool)
                while ContinuousClock.now - start < .seconds(minutes * 60) {
                    try await Task.sleep(for: .seconds(max(2, min(30, minutes * 60 / 16))))
                    let before = added.count.load(ordering: .sequentiallyConsistent)
                    let now = try await counters(pool)
                    let done = Double(max(1, now.done - last.done))
                    let sample = SoakSample(
                        minute: (ContinuousClock.now - start).inSeconds / 60,
                        hotBytes: now.hot,
                        indexBytes: now.index,
                        memory: QueueBench.privateMemory() ?? 0,
                        walPerJob: Double(now.wal - last.wal) / done,
                        commitsPerJob: Double(now.commits - last.commits) / done,
                        waiting: now.waiting,
                        lost: max(0, before - now.done - now.waiting)
                    )
                    last = now
                    samples.append(sample)
                    print(
                        "minute \(Double(Int(sample.minute * 10)) / 10): \(now.done) done, \(sample.waiting) waiting,",
                        "table \(sample.hotBytes / 1024) kB, indexes \(sample.indexBytes / 1024) kB,",
                        "memory \(Int(sample.memory)) MB, \(Int(sample.walPerJob)) bytes of WAL",
                        "and \(SoakGate.rounded(sample.commitsPerJob)) commits per job"
                    )
                }
                group.cancelAll()
                return samples
            }
        }
    }

    private struct Counters: Sendable {
        let hot: Int
        let index: Int
        let wal: Int
        let commits: Int
        let done: Int
        let waiting: Int
    }

    private func counters(_ pool: Pool) async throws -> Counters {
        let row = try await pool.withConnection { connection in
            try connection.one(
                """
                select pg_table_size('accountctl.jobs'), pg_indexes_size('accountctl.jobs'),
                    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
                    (select xact_commit from pg_stat_database where datname = current_database()),
                    (select count(*) from accountctl.job_history), (select count(*) from accountctl.jobs)
                """,
                as: (Int64, Int64, Int64, Int64, Int64, Int64).self
            )
        }
        return Counters(
            hot: Int(row.0),
            index: Int(row.1),
            wal: Int(row.2),
            commits: Int(row.3),
            done: Int(row.4),
            waiting: Int(row.5)
        )
    }
}
