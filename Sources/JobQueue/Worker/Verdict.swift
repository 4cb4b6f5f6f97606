#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is written about a job whose handler is done: decided from how the handler ended and why it was stopped, by a
/// pure function.
enum Verdict: Sendable, Hashable {
    /// To the history.
    case end(JobQueue.Ending.Outcome, output: JobDocument? = nil, reason: String? = nil, failure: Failure? = nil)
    /// Back into the table.
    case giveBack(NextTurn)
    /// Aside.
    case park(reason: String, failure: Failure)
    /// Back as if it had not been claimed.
    case release
    /// Nothing: it is written already, or must not be.
    case nothing

    /// Whether the job is done, and nothing else.
    var isCompletion: Bool {
        if case .end(.completed, _, _, _) = self { true } else { false }
    }

    /// One entry of a job's errors, which the server dates.
    struct Failure: Encodable, Sendable, Hashable {
        let attempt: Int16
        let error: String
    }

    /// What a verdict is decided from besides the handler's answer.
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
            // Whatever it threw, it threw because it was told to stop.
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
            return .giveBack(NextTurn(wait: .seconds(seconds), givesAttemptBack: true, isWell: true))
        case .retry(let after, let reason):
            if stop == .cancelRequested { return .end(.cancelled, reason: "cancelled while running") }
            return failed(reason, after: after, facts)
        }
    }

    /// A job under which the process died too often: not run again, or daily and alone where it must not be given up.
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
                // Still a suspect, so that it goes on to run alone.
                crashes: 1
            )
        )
    }

    /// Longest wait, a hundred years in seconds; a longer one would overflow timestamptz and be refused at every write.
    private static let longestWait = 3.2e9

    private static func failed(_ reason: String, after: Duration?, _ facts: Facts) -> Verdict {
        let after = after.map { min(max(.zero, $0), .seconds(longestWait)) }
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

    /// What may be kept of an error.
    ///
    /// By house rule the `description` of our errors is safe; of an error that does not describe itself only the type
    /// is told, since a default description would print what it carries.
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
