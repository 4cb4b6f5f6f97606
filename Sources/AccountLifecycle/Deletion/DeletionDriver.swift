package import JobQueue
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Drives deletion requests: gathers facts, has the machine decide, takes the step, records it.
///
/// It keeps nothing about a request between steps; killed at any instant, it goes on from what was recorded.
///
/// To read one deletion from its request to its receipt: ``DeletionDesk``, or the app's function in the database, opens
/// the request, and a job of ``DeletionJobs`` has it driven here. ``DeletionMachine`` says which step comes next,
/// ``DeletionJournal`` records that it begins and ends, and ``DeletionRun`` takes it: each ``DeletionStep`` has a file in
/// `Steps`. Before whatever cannot be undone a step looks at ``DeletionBrakes``. What of the database goes is told by
/// ``DeletionPlan``, which files by ``AccountObjects``, and what is left by ``SearchPass``.
package struct DeletionDriver: Sendable {
    /// Where a request was left.
    package enum Pause: Sendable, Hashable {
        /// Ended, or unknown.
        case ended(DeletionState?)
        /// To be driven again at this time.
        case until(Date)
        /// To be driven again after this time, since a step failed.
        case failed(after: Duration, Situation)
    }

    /// Throws unless the driver's right to the request outlasts a length of time.
    package typealias LeaseCheck = @Sendable (Duration) throws -> Void

    /// How often a step may send the run back within one drive.
    private static let returnLimit = 5

    let services: DeletionServices

    package init(_ services: DeletionServices) {
        self.services = services
    }

    /// Drives a request as far as it goes now.
    ///
    /// `fence` keeps every write out once another process has taken over, and `lease` throws before a call to Apple or
    /// Storage, which no fence reaches, unless nobody can take over in the time that the call may take; there are none
    /// in tests that have the database to themselves.
    ///
    /// - Throws: ``PostgresError``, but for what the server says of a step, which is recorded; ``JobQueueError``
    ///   `leaseLost` and what `lease` throws; `CancellationError` between and within steps.
    package func drive(_ request: UUID, fence: JobFence? = nil, lease: LeaseCheck? = nil) async throws -> Pause {
        let journal = DeletionJournal(request: request, fence: fence)
        var returns = 0
        // What follows the step that was taken, if nothing else has happened: begun with the statement that reads the
        // request.
        var likely: (step: DeletionStep, state: DeletionState)?
        while true {
            try Task.checkCancellation()
            let read: (record: DeletionRecord, isBegun: Bool)?
            if let likely {
                read = try await begin(likely.step, likely.state, journal)
            } else {
                read = try await services.pool.withConnection { connection in
                    try DeletionRecord.load(request, on: connection).map { ($0, false) }
                }
            }
            guard let (record, isBegun) = read else { return .ended(nil) }
            let begun = isBegun ? likely?.step : nil
            likely = nil
            switch DeletionMachine.next(record.facts) {
            case .end:
                return .ended(record.facts.state)
            case .wait(let state, let situation, let until):
                if record.facts.state != state || situation != nil {
                    // A try that died in line at Apple left its beginning behind.
                    if record.facts.lockedOutAt != nil { try await journal.withdrawUnasked(in: services.pool) }
                    try await services.pool.withConnection { connection in
                        try journal.stop(state, situation, on: connection)
                    }
                }
                return .until(until)
            case .perform(let step, let state):
                if begun != step {
                    // Cancelled or stopped since the facts were read: the machine says what follows.
                    guard try await begin(step, state, journal)?.isBegun == true else { continue }
                }
                switch try await take(step, state, of: record, journal, lease, &returns) {
                case .pause(let pause): return pause
                case .next: likely = DeletionMachine.likely(after: step, record.facts)
                case .decide: break
                }
            }
        }
    }

    /// What follows a step.
    enum Course {
        /// The next step, most likely.
        case next
        /// Whatever new facts say.
        case decide
        case pause(Pause)
    }

    /// Records that a step begins, unless something has come in between, and reads the request.
    private func begin(_ step: DeletionStep, _ state: DeletionState, _ journal: DeletionJournal) async throws
        -> (record: DeletionRecord, isBegun: Bool)?
    {
        try await services.probe(.before(step))
        return try await services.pool.withConnection { connection in
            try journal.begin(step, state, on: connection)
        }
    }

    /// Takes one step that was recorded as begun.
    private func take(
        _ step: DeletionStep,
        _ state: DeletionState,
        of record: DeletionRecord,
        _ journal: DeletionJournal,
        _ lease: LeaseCheck?,
        _ returns: inout Int
    ) async throws -> Course {
        guard let user = record.userID else { return .pause(.ended(record.facts.state)) }
        try await services.probe(.begun(step))
        let run = DeletionRun(services: services, record: record, user: user, journal: journal, lease: lease)
        let result: StepResult
        do {
            result = try await run.take(step)
        } catch is Braked {
            // The machine sees the brake in the facts and says how long to wait.
            return .decide
        } catch let error as PostgresError where error.connectionUsable {
            result = .failed(try await refusal(of: step, of: record, by: error))
        } catch let error as FailedSearch {
            result = .failed(try await refusal(of: step, of: record, by: error.cause, at: error.table))
        } catch let error as SealingError {
            // The request's identifiers do not open: another worker's keys may open them.
            let situation = Situation(.sealingKeyMissing, subject: record.sealingKeyID, detail: "\(error)")
            result = .stopped(.blocked, situation, lookAgainAfter: DeletionMachine.lookAgainAfter)
        }
        try await services.probe(.done(step))
        if case .back = result { returns += 1 }
        // Something makes new data as fast as it is removed: back off instead of looping.
        if returns > Self.returnLimit {
            let situation = Situation(.failing, detail: "\(step.rawValue) keeps finding new data")
            return try await settle(.failed(situation), of: step, of: record, state, journal)
        }
        return try await settle(result, of: step, of: record, state, journal)
    }
}
