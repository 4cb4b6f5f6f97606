#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What to write about a job whose handler has ended.
///
/// A pure function decides it from how the handler ended and why it was stopped.
enum Verdict: Sendable, Hashable {
    /// Ends the job and moves it to the history.
    case end(JobQueue.Ending.Outcome, output: JobDocument? = nil, reason: String? = nil, failure: Failure? = nil)
    /// Gives the job back to the table.
    case giveBack(NextTurn)
    /// Parks the job.
    case park(reason: String, failure: Failure)
    /// Hands the job back as if it had not been claimed.
    case release
    /// Writes nothing: the outcome is already written, or must not be.
    case nothing

    /// Whether the verdict is that the job completed.
    var isCompletion: Bool {
        if case .end(.completed, _, _, _) = self { true } else { false }
    }

    /// One entry of a job's errors, which the server dates.
    struct Failure: Encodable, Sendable, Hashable {
        let attempt: Int16
        let error: String
    }

    /// The inputs of a verdict besides the handler's result.
    struct Facts: Sendable {
        let attempt: Int16
        let maxAttempts: Int16?
        let retry: RetryPolicy
        let timeout: Duration
        /// The time by the server's clock.
        let now: Date
        let random: Double
    }

    static func of(_ result: Result<JobOutcome, any Error>, stop: StopReason?, _ facts: Facts) -> Verdict {
        if stop == .leaseLost { return .nothing }
        let outcome: JobOutcome
        switch result {
        case .success(let answer):
            outcome = answer
        case .failure(let error):
            switch stop {
            // Any error it threw is due to its being told to stop.
            case .cancelRequested: return .end(.cancelled, reason: "cancelled while running")
            case .shutdown: return .release
            case .deadline:
                outcome = .retry(reason: "did not end within \(facts.timeout)")
            case .leaseLost, nil:
                if let error = error as? JobQueueError {
                    if error.code == .leaseLost { return .nothing }
                    if error.code == .leaseTooShort {
                        return .giveBack(NextTurn(wait: .seconds(1), givesAttemptBack: true))
                    }
                    if error.code == .undecodableArguments {
                        return .park(reason: "undecodable", failure: facts.failure(error.message))
                    }
                    if error.code == .newerArguments {
                        return .park(reason: "newer", failure: facts.failure(error.message))
                    }
                }
                outcome = .retry(reason: Self.describe(error))
            }
        }
        switch outcome {
        case .completed(let output):
            return .end(.completed, output: output)
        case .completedInTransaction:
            return .nothing
        case .cancelled(let reason):
            return .end(.cancelled, reason: sanitized(reason))
        case .discard(let reason):
            return .end(.discarded, reason: sanitized(reason), failure: facts.failure(reason))
        case .snooze(let until):
            if stop == .cancelRequested { return .end(.cancelled, reason: "cancelled while running") }
            let seconds = min(max(0, until.timeIntervalSince(facts.now)), longestWait)
            // An instant in the past may be before the server's calendar, or no number at all.
            let latest = seconds > 0 ? min(until, facts.now.addingTimeInterval(longestWait)) : facts.now
            return .giveBack(
                NextTurn(wait: .seconds(seconds), until: latest, givesAttemptBack: true, isWell: true)
            )
        case .retry(let after, let reason):
            if stop == .cancelRequested { return .end(.cancelled, reason: "cancelled while running") }
            let after = after.map { min(max(.zero, $0), .seconds(longestWait)) }
            guard stop == .shutdown else { return failed(reason, after: after, facts) }
            // As with a thrown error: some handlers return what they catch. One that asks for a wait has its reasons,
            // such as an answer that says when to ask again.
            guard let after else { return .release }
            return .giveBack(NextTurn(wait: after, givesAttemptBack: true, failure: facts.failure(reason)))
        }
    }

    /// The verdict on a job under which the process died too often.
    ///
    /// It is discarded; a job that must not be discarded runs again daily and alone.
    static func crashed(_ crashes: Int16, _ facts: Facts) -> Verdict {
        let reason = "its process died \(crashes) times while it ran"
        guard !facts.retry.hasLastAttempt else {
            return .end(.discarded, reason: reason, failure: facts.failure(reason))
        }
        return .giveBack(
            NextTurn(
                wait: facts.retry.alarmInterval,
                givesAttemptBack: true,
                failure: facts.failure(reason),
                isExhausted: true,
                // It stays a suspect, so that it continues to run alone.
                crashes: 1
            )
        )
    }

    /// The longest wait, a hundred years in seconds; a longer one would overflow timestamptz and be refused at every
    /// write.
    private static let longestWait = 3.2e9

    private static func failed(_ reason: String, after: Duration?, _ facts: Facts) -> Verdict {
        let decision = facts.retry.decision(
            afterAttempt: Int(facts.attempt),
            override: facts.maxAttempts.map(Int.init),
            random: facts.random
        )
        return switch decision {
        case .retry(let wait):
            .giveBack(NextTurn(wait: after ?? wait, failure: facts.failure(reason)))
        case .retryWithAlarm(let wait):
            .giveBack(
                NextTurn(wait: max(wait, after ?? wait), failure: facts.failure(reason), isExhausted: true)
            )
        case .discard:
            .end(.discarded, reason: sanitized(reason), failure: facts.failure(reason))
        }
    }

    /// The text of an error that may be stored and logged.
    ///
    /// By house rule, the `description` of our errors is safe. For an error without a description of its own only the
    /// type is given, because a default description would print the values it carries.
    static func describe(_ error: any Error) -> String {
        if let error = error as? any CustomStringConvertible { return sanitized(error.description) }
        return "\(type(of: error))"
    }

    /// A text that Postgres can store and a terminal can show, of bounded length.
    static func sanitized(_ text: String) -> String {
        let printable = text.unicodeScalars.lazy.map { scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        var result = String.UnicodeScalarView()
        result.append(contentsOf: printable.prefix(500))
        return String(result)
    }
}

extension Verdict.Facts {
    func failure(_ reason: String) -> Verdict.Failure {
        Verdict.Failure(attempt: attempt, error: Verdict.sanitized(reason))
    }
}
