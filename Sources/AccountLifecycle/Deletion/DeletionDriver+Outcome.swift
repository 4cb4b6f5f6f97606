import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records what came of a step, and tells what follows.
extension DeletionDriver {
    /// What is told of a step that the database refused: like any other failure.
    ///
    /// - Throws: the error where it has no word of the server: then it is about our connections, and of all requests.
    func refusal(
        of step: DeletionStep,
        of record: DeletionRecord,
        by error: PostgresError,
        at table: String? = nil
    ) async throws -> Situation {
        guard let state = error.sqlState else { throw error }
        var facts: Logger.Metadata = ["error": "\(error)"]
        if let table { facts["table"] = "\(table)" }
        services.logger(for: record.id).warning("the database refused a step", metadata: facts)
        // A lock may be kept from us for good: who has it is what ends that.
        var holder: LockHolder?
        if state == .lockNotAvailable, let statement = error.statement {
            holder = try? await services.pool.withConnection { try LockHolder.find(behind: statement, on: $0) }
        }
        let place = table.map { "\($0): " } ?? ""
        let end = holder.map { ", \($0)" } ?? ""
        return Situation(.failing, detail: "\(step.rawValue): \(place)SQLSTATE \(state)\(end)")
    }

    /// Records what came of a step.
    func settle(
        _ result: StepResult,
        of step: DeletionStep,
        of record: DeletionRecord,
        _ state: DeletionState,
        _ journal: DeletionJournal
    ) async throws -> Course {
        let log = services.logger(for: record.id)
        switch result {
        case .recorded:
            log.debug("step recorded", metadata: ["step": "\(step.rawValue)"])
        case .done(let outcome, let facts):
            try await services.pool.withConnection { connection in
                try journal.finish(step, outcome, facts, on: connection)
            }
            log.debug("step done", metadata: ["step": "\(step.rawValue)", "outcome": "\(outcome.rawValue)"])
        case .back(let earlier):
            try await services.pool.withConnection { connection in
                try journal.takeBack(DeletionMachine.steps(toRepeatFrom: earlier), on: connection)
            }
            log.info("step repeated", metadata: ["step": "\(earlier.rawValue)", "found_by": "\(step.rawValue)"])
        case .stopped(let state, let situation, let pause):
            return .pause(try await stop(in: state, situation, step, of: record, pause, journal))
        case .failed(let situation):
            return .pause(try await fail(situation, step, of: record, state, journal))
        }
        try await services.probe(.after(step))
        if case .back = result { return .decide }
        return .next
    }

    /// Records that a request stands still, and until when.
    private func stop(
        in state: DeletionState,
        _ situation: Situation,
        _ step: DeletionStep,
        of record: DeletionRecord,
        _ pause: Duration,
        _ journal: DeletionJournal
    ) async throws -> Pause {
        // Counted from the end of the step, which may have taken longer than that.
        let now = try await services.pool.withConnection { connection in
            try journal.stop(state, situation, on: connection)
            return try connection.one("select clock_timestamp()", as: Date.self)
        }
        services.logger(for: record.id).warning(
            "request stands still",
            metadata: [
                "step": "\(step.rawValue)", "state": "\(state.rawValue)", "situation": "\(situation.code.rawValue)",
            ]
        )
        return .until(now.addingTimeInterval(situation.delay(atLeast: pause) / .seconds(1)))
    }

    /// Records that a step failed, and when it is tried again.
    private func fail(
        _ situation: Situation,
        _ step: DeletionStep,
        of record: DeletionRecord,
        _ state: DeletionState,
        _ journal: DeletionJournal
    ) async throws -> Pause {
        let failures = record.failures + 1
        try await services.pool.withConnection { connection in
            // The patience with Apple counts from the first time that a credential could not be revoked, for whatever
            // reason but what the database refused.
            try journal.stop(
                state,
                situation,
                failed: true,
                waitsForApple: step == .revokeApple && situation.code != .failing,
                on: connection
            )
        }
        services.logger(for: record.id).warning(
            "step failed",
            metadata: [
                "step": "\(step.rawValue)", "situation": "\(situation.code.rawValue)", "failures": "\(failures)",
            ]
        )
        return .failed(after: situation.delay(atLeast: DeletionMachine.delay(afterFailures: failures)), situation)
    }
}
