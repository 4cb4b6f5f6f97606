package import JobQueue
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Drives deletion requests: gathers facts, asks the state machine for a decision, takes the step and records it.
///
/// The driver keeps nothing about a request between steps: a process killed at any instant resumes from what was
/// recorded.
///
/// To follow one deletion from request to receipt: ``DeletionDesk``, or the app's function in the database, opens the
/// request, and a job of ``DeletionJobs`` drives it here. ``DeletionMachine`` chooses the next step,
/// ``DeletionJournal`` records its beginning and end, and ``DeletionRun`` takes it: each ``DeletionStep`` has a file in
/// `Steps`. Before an act that cannot be undone, a step checks ``DeletionBrakes``. ``DeletionPlan`` determines which
/// rows are deleted, ``AccountObjects`` which files, and ``SearchPass`` finds what is left.
package struct DeletionDriver: Sendable {
    /// The point at which a drive left a request.
    package enum Pause: Sendable, Hashable {
        /// The request has ended, or does not exist.
        case ended(DeletionState?)
        /// Drive the request again at this time.
        case until(Date)
        /// A step failed: drive the request again after this time.
        case failed(after: Duration, Situation)
    }

    /// Throws unless the driver's lease on the request outlasts the given duration.
    package typealias LeaseCheck = @Sendable (Duration) throws -> Void

    /// How often a step may send the run back to an earlier step, or start over, within one drive.
    private static let returnLimit = 5

    /// How long a request rests after too many returns to an earlier step: each may cost a search of the whole database.
    private static let restAfterReturns = Duration.seconds(3600)

    let services: DeletionServices

    package init(_ services: DeletionServices) {
        self.services = services
    }

    /// Drives a request as far as it can go now.
    ///
    /// `fence` rejects every write once another process has taken over. Calls to Apple and Storage are beyond the
    /// fence, so `lease` is called before each and throws unless the lease outlasts the longest time that the call may
    /// take. Tests that have the database to themselves pass neither.
    ///
    /// - Throws: ``PostgresError``, except for what the server reports about a step, which is recorded;
    ///   ``JobQueueError`` `leaseLost` and what `lease` throws; `CancellationError` between and within steps.
    package func drive(_ request: UUID, fence: JobFence? = nil, lease: LeaseCheck? = nil) async throws -> Pause {
        let journal = DeletionJournal(request: request, fence: fence)
        var returns = 0
        // The likely next step if nothing else has happened: the statement that reads the request also records its
        // beginning.
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
                    // An attempt that died while queued for Apple left its begin record behind.
                    if record.facts.lockedOutAt != nil { try await journal.withdrawUnasked(in: services.pool) }
                    try await services.pool.withConnection { connection in
                        try journal.stop(state, situation, on: connection)
                    }
                }
                return .until(until)
            case .perform(let step, let state):
                if begun != step {
                    // Cancelled or stopped since the facts were read: decide again from new facts.
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

    /// How the drive continues after a step.
    enum Course {
        /// Take the likely next step.
        case next
        /// Decide from new facts.
        case decide
        case pause(Pause)
    }

    /// Records that a step begins, unless the request has changed meanwhile, and reads the request.
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
        var result: StepResult
        do {
            result = try await run.take(step)
        } catch is Braked {
            // The machine finds the brake in the facts and decides how long to wait.
            return .decide
        } catch is PlanOvertaken {
            services.catalogs.forget()
            result = .back(to: step)
        } catch let error as PostgresError where error.connectionUsable {
            result = .failed(try await refusal(of: step, of: record, by: error))
        } catch let error as FailedSearch {
            result = .failed(try await refusal(of: step, of: record, by: error.cause, at: error.table))
        } catch let error as SealingError {
            // The request's identifiers cannot be opened with our keys; those of another worker may open them.
            let situation = Situation(.sealingKeyMissing, subject: record.sealingKeyID, detail: "\(error)")
            result = .stopped(.blocked, situation)
        }
        try await services.probe(.done(step))
        if case .back(let earlier) = result {
            returns += 1
            if returns > Self.returnLimit {
                var situation = Situation(.failing, detail: "the app's tables keep changing during \(step.rawValue)")
                if earlier != step {
                    situation.detail = "\(step.rawValue) keeps finding new work for \(earlier.rawValue)"
                    // The steps in between succeed, so failures never add up from one attempt to the next: neither
                    // would the delay grow, nor the alarm come.
                    situation.failures = returns
                    situation.retryAfter = Self.restAfterReturns
                }
                result = .failed(situation)
            }
        }
        return try await settle(result, of: step, of: record, state, journal)
    }
}
