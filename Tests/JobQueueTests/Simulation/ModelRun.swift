import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// A run of random steps, each taken on the model and on the tables.
struct ModelRun {
    static let lanes = [Lane(queue: "default", kind: "test.model", timeout: .seconds(600))]
    static let kind = JobKind<Note>("test.model")

    let queue: JobQueue
    let seed: UInt64
    var random: SeededRandom
    var model = ModelTable()
    /// The tables' lease numbers, keyed by those of the model.
    var leases: [Int64: Int64] = [:]
    var claims: [(model: JobLease, real: JobLease)] = []
    var workers: [Int64] = []
    /// Workers from an earlier life of the database, which claim nothing until a heartbeat has told them of the new
    /// one.
    var formerWorkers: [Int64] = []
    var keys: [Int64: String] = [:]
    /// The state that the standby has reached, and its sequences by name.
    var standby: ModelTable?
    var numbers: [String: Int64] = [:]

    init(queue: JobQueue, seed: UInt64) {
        self.queue = queue
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    /// Takes one random step, if there is anything to take it on.
    mutating func take(_ step: Int, on connection: isolated Connection) throws {
        switch Int.random(in: 0..<23, using: &random) {
        case 0, 1: try enqueue(at: step, on: connection)
        case 2: try addWorker(on: connection)
        case 3, 4, 5: try claim(on: connection)
        case 6, 7: try finish(on: connection)
        case 8: try giveBack(on: connection)
        case 9: try release(on: connection)
        case 10: try cancel(on: connection)
        case 11: try rescue(on: connection)
        case 12: try runNow(on: connection)
        case 13: try takeOverdue(on: connection)
        case 14: try promote(on: connection)
        case 15: try discard(at: step, on: connection)
        case 16: try retry(at: step, on: connection)
        case 17: try replicate(on: connection)
        case 18: try failOver(on: connection)
        case 19: try park(on: connection)
        case 20: try unpark(on: connection)
        case 21: try snooze(at: step, on: connection)
        default: try beat(on: connection)
        }
    }

    /// Expects each unfinished and each ended job to be the same in the tables as in the model.
    func compare(at step: Int, on connection: isolated Connection) throws {
        let rows = try connection.query(
            "select id, state::text, worker, attempt, crashes from accountctl.jobs",
            as: (Int64, String, Int64?, Int16, Int16).self
        )
        #expect(rows.count == model.jobs.count, "step \(step) of seed \(seed)")
        for row in rows {
            guard let job = model.jobs[row.0] else { continue }
            let isSame =
                job.state == row.1 && job.worker == row.2 && job.attempt == Int(row.3)
                && job.crashes == Int(row.4)
            #expect(isSame, "job \(row.0) at step \(step) of seed \(seed)")
        }
        let ended = try connection.query(
            "select id, outcome::text, attempt from accountctl.job_history",
            as: (Int64, String, Int16).self
        )
        #expect(ended.count == model.history.count, "step \(step) of seed \(seed)")
        for row in ended {
            let end = model.history[row.0]
            let isSame = end?.outcome == row.1 && end?.attempt == Int(row.2)
            #expect(isSame, "end of job \(row.0) at step \(step) of seed \(seed)")
        }
    }
}
