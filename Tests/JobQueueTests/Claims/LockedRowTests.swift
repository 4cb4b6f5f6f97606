import Foundation
import Postgres
import Testing

@testable import JobQueue

/// Statements that change what they find in a certain state pass over the rows that another session has locked, and
/// neither wait for it nor overwrite what it writes: the job may be claimed by then.
@Suite(.timeLimit(.minutes(5))) struct LockedRowTests {
    enum Act: CaseIterable, Sendable {
        case promote, renewWaits, age, unparkUnlimited, retryNewer, retryUndecodable, takeOverdue, release

        /// The state, and in how many seconds the job is ready and its wait begins.
        var row: (state: String, parkedFor: String?, readyIn: Int, waitsIn: Int?) {
            switch self {
            case .promote: ("scheduled", nil, -1, nil)
            case .renewWaits: ("scheduled", nil, 7200, 3600)
            case .age, .takeOverdue, .release: ("available", nil, -3600, nil)
            case .unparkUnlimited: ("parked", "limit", -3600, nil)
            case .retryNewer: ("parked", "newer", -3600, nil)
            case .retryUndecodable: ("parked", "undecodable", -3600, nil)
            }
        }
    }

    /// Adds two jobs in the state in which the statement finds them, or in which they can be claimed.
    private func addJobs(for act: Act, _ harness: JobHarness) async throws {
        let row = act.row
        try await harness.execute(
            """
            insert into accountctl.jobs (queue, kind, limit_key, state, parked_for, run_at, waiting_since)
            select 'default', 'test.plain', 'k', \(row.state)::text::accountctl.job_state, \(row.parkedFor),
                now() + \(row.readyIn)::int * interval '1 second', now() + \(row.waitsIn)::int * interval '1 second'
            from generate_series(1, 2)
            """
        )
    }

    /// Runs the statement, and returns how many jobs it changed.
    private func run(_ act: Act, _ jobs: [JobLease], of worker: Int64, _ harness: JobHarness) async throws -> Int {
        let (queue, lanes) = (harness.queue, JobHarness.plainLanes)
        return try await harness.pool.withConnection { connection in
            switch act {
            case .promote: try queue.promote(on: connection).promoted
            case .renewWaits: try queue.renewWaitsAhead(on: connection)
            case .age: try queue.age(lanes, after: .seconds(60), on: connection)
            case .unparkUnlimited: try queue.unparkUnlimited(lanes, on: connection)
            case .retryNewer: try queue.retryNewer(lanes, since: .distantFuture, on: connection)
            case .retryUndecodable: try queue.retryUndecodable(lanes, since: .distantFuture, on: connection)
            case .takeOverdue: try queue.takeOverdue(jobs, alarmed: [:], on: connection)
            case .release: try harness.beat(worker, [], releasesUpTo: Int64.max, on: connection)?.released ?? 0
            }
        }
    }

    @Test(arguments: Act.allCases) func whatAnotherSessionHasLockedIsPassedOver(_ act: Act) async throws {
        try await JobHarness.with { harness in
            try await addJobs(for: act, harness)
            let worker = try await harness.host()
            let isOfRunning = act == .takeOverdue || act == .release
            let jobs = try await isOfRunning ? harness.claim(worker, 2).map(\.leased) : []
            #expect(jobs.count == (isOfRunning ? 2 : 0))
            try await harness.pool.withTransaction { other in
                _ = try other.one("select id from accountctl.jobs order by id limit 1 for update", as: Int64.self)
                #expect(try await run(act, jobs, of: worker, harness) == 1)
            }
            #expect(try await run(act, jobs, of: worker, harness) == 1)
        }
    }
}
