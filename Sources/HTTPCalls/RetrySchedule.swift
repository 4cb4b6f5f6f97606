/// Decides whether and when a call is retried: exponential backoff with full jitter, within the call's deadline.
///
/// A value type that maps outcomes to actions; it neither waits nor reads a clock.
package struct RetrySchedule: Sendable {
    /// The number and the pace of attempts.
    package struct Policy: Sendable, Hashable {
        /// The total number of attempts, including the first.
        var attempts: Int
        /// The upper bound of the first pause, which doubles with each attempt.
        var firstPause: Duration
        /// The upper bound of any pause that the service did not request.
        var longestPause: Duration

        /// Creates a policy; the defaults fit calls whose job is retried anyway.
        package init(attempts: Int = 3, firstPause: Duration = .milliseconds(250), longestPause: Duration = .seconds(8))
        {
            self.attempts = attempts
            self.firstPause = firstPause
            self.longestPause = longestPause
        }
    }

    /// What to do after an attempt.
    package enum Action: Sendable, Equatable {
        /// The outcome is final.
        case finish
        /// Wait, then send again.
        case pause(Duration)
    }

    private let policy: Policy
    private let repetition: HTTPCall.Repetition
    private var made = 0

    /// Creates a schedule for one call.
    package init(policy: Policy, repetition: HTTPCall.Repetition) {
        self.policy = policy
        self.repetition = repetition
    }

    /// Decides what to do after an attempt.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the attempt.
    ///   - remaining: The time left until the call's deadline.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: The next action. If the pause would leave no time for an attempt, the outcome is final: the caller
    ///   gets the reply with its `retryAfter` and can retry later.
    package mutating func next(after outcome: HTTPOutcome, remaining: Duration, jitter: Double) -> Action {
        guard mayRepeat(outcome) else { return .finish }
        var asked: Duration?
        if case .reply(let reply) = outcome { asked = reply.retryAfter }
        return next(asked: asked, remaining: remaining, jitter: jitter)
    }

    /// Decides what to do after an attempt that may be repeated, given the pause that the service requested.
    package mutating func next(asked: Duration?, remaining: Duration, jitter: Double) -> Action {
        made += 1
        guard made < policy.attempts else { return .finish }
        let doubled = policy.firstPause * (1 << min(made - 1, 16))
        let pause = max(min(doubled, policy.longestPause) * jitter, asked ?? .zero)
        return pause < remaining ? .pause(pause) : .finish
    }

    private func mayRepeat(_ outcome: HTTPOutcome) -> Bool {
        switch outcome {
        case .unreachable(.busy), .unreachable(.clientUnavailable): false
        case .unreachable: true
        case .timedOut, .interrupted: repetition == .always
        case .reply(let reply): repetition == .always && Self.isPassing(reply.status)
        case .replyTooLarge: false
        }
    }

    /// Whether a status is transient; 544 is the database timeout of the Storage service.
    private static func isPassing(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500, 502, 503, 504, 544: true
        default: false
        }
    }
}
