import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records the result of a step and decides how the drive continues.
extension DeletionDriver {
    /// Turns the database's refusal of a step into a situation that is recorded like any other failure.
    ///
    /// - Throws: `error` itself if it carries no SQLSTATE: it then concerns our connections, and so every request.
    func refusal(
        of step: DeletionStep,
        of record: DeletionRecord,
        by error: PostgresError,
        at table: String? = nil
    ) async throws -> Situation {
        guard let state = error.sqlState, let refusal = error.stateAndConstraint else { throw error }
        var facts: Logger.Metadata = ["error": "\(error)"]
        if let table { facts["table"] = "\(table)" }
        services.logger(for: record.id).warning("the database refused a step", metadata: facts)
        // A session may hold the lock indefinitely, so the detail names the session to end.
        var holder: LockHolder?
        if state == .lockNotAvailable, let statement = error.statement {
            holder = try? await services.pool.withConnection { try LockHolder.find(behind: statement, on: $0) }
        }
        let place = table.map { "\($0): " } ?? ""
        let end = holder.map { ", \($0)" } ?? ""
        return Situation(.failing, detail: "\(step.rawValue): \(place)\(refusal)\(end)")
    }

    /// Records the result of a step.
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
                try journal.takeBack(
                    DeletionMachine.steps(toRepeatFrom: earlier),
                    keepsFailures: earlier == step,
                    on: connection
                )
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
        // The pause counts from the end of the step, since the step itself may have taken longer than the pause.
        let (isNew, now) = try await services.pool.withConnection { connection in
            (
                try journal.stop(state, situation, on: connection),
                try connection.one("select clock_timestamp()", as: Date.self)
            )
        }
        services.logger(for: record.id).log(
            // It is looked at again every few minutes, for as long as the cause lasts.
            level: isNew ? .warning : .debug,
            "a deletion request cannot continue",
            metadata: Self.facts(of: situation, ["step": "\(step.rawValue)", "state": "\(state.rawValue)"])
        )
        return .until(now.addingTimeInterval(situation.delay(atLeast: pause) / .seconds(1)))
    }

    /// Records that a step failed, and when it is retried.
    private func fail(
        _ situation: Situation,
        _ step: DeletionStep,
        of record: DeletionRecord,
        _ state: DeletionState,
        _ journal: DeletionJournal
    ) async throws -> Pause {
        let failures = record.failures + situation.failures
        try await services.pool.withConnection { connection in
            // The time limit for Apple counts from the first failure to revoke a credential, whatever the reason,
            // unless the database refused the step.
            try journal.stop(
                state,
                situation,
                failures: situation.failures,
                waitsForApple: step == .revokeApple && situation.code != .failing,
                on: connection
            )
        }
        services.logger(for: record.id).warning(
            "step failed",
            metadata: Self.facts(of: situation, ["step": "\(step.rawValue)", "failures": "\(failures)"])
        )
        return .failed(after: situation.delay(atLeast: DeletionMachine.delay(afterFailures: failures)), situation)
    }

    /// What a log entry says of a situation, besides other facts.
    private static func facts(of situation: Situation, _ others: Logger.Metadata) -> Logger.Metadata {
        var facts = others
        facts["situation"] = "\(situation.code.rawValue)"
        if let subject = situation.subject { facts["subject"] = "\(subject)" }
        if let detail = situation.detail { facts["detail"] = "\(detail)" }
        if let blockers = situation.blockers {
            facts["tables"] = "\(Set(blockers.map(\.table)).sorted().joined(separator: ", "))"
        }
        if let findings = situation.findings { facts["columns"] = "\(findings.map(\.column).joined(separator: ", "))" }
        return facts
    }
}
