/// When a failed job is retried, and when it is given up.
///
/// The wait before attempt n + 1 is `base × factor^(n - 1)`, at most `cap`, randomized by a share of `jitter` in both
/// directions.
package struct RetryPolicy: Sendable, Hashable {
    /// What to do after a failed attempt.
    enum Decision: Sendable, Hashable {
        /// Retry after this wait.
        case retry(after: Duration)
        /// The usual attempts are used up, but the job must not be discarded: retry after this wait, and raise an
        /// alarm.
        case retryWithAlarm(after: Duration)
        /// Discard the job.
        case discard
    }

    /// The attempts before the job is discarded or, without a last attempt, raises an alarm.
    var attempts: Int

    /// Whether the job is ever discarded; false for work that must happen, such as an erasure.
    var hasLastAttempt: Bool

    /// The wait after the first failed attempt.
    var base: Duration

    /// The factor by which each further wait grows.
    var factor: Double

    /// The longest wait, before jitter.
    var cap: Duration

    /// The share of the wait by which it is randomized, 0 to 1.
    var jitter: Double

    /// The wait between attempts once a job without a last attempt has used up its usual ones.
    let alarmInterval = Duration.seconds(86_400)

    /// Exponential waits: 1 s, 2 s, 4 s and so on to an hour, 20 attempts by default (about eight hours).
    package static func exponential(
        attempts: Int = 20,
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(3600),
        jitter: Double = 0.1
    ) -> RetryPolicy {
        RetryPolicy(
            attempts: attempts,
            hasLastAttempt: true,
            base: base,
            factor: factor,
            cap: cap,
            jitter: jitter
        )
    }

    /// A policy for a periodic job of which only one is unfinished at a time.
    ///
    /// It retries no later than the next instant; `period` is the time between two instants of its schedule.
    package static func periodic(every period: Duration) -> RetryPolicy {
        .exponential(cap: min(period, .seconds(3600)), jitter: 0)
    }

    /// As ``exponential(attempts:base:factor:cap:jitter:)``, but never discarded: retried daily after the usual
    /// attempts, with an alarm.
    package static func withoutLastAttempt(
        attempts: Int = 20,
        base: Duration = .seconds(1),
        jitter: Double = 0.1
    ) -> RetryPolicy {
        var policy = exponential(attempts: attempts, base: base, jitter: jitter)
        policy.hasLastAttempt = false
        return policy
    }

    /// One attempt only.
    package static let never = RetryPolicy.exponential(attempts: 1)

    /// Decides after a failed attempt, counted from 1.
    ///
    /// `override` is the number of attempts of this one job instead of the kind's; `random`, in 0..<1, places the wait
    /// within its jitter.
    func decision(afterAttempt attempt: Int, override: Int? = nil, random: Double) -> Decision {
        if attempt < override ?? attempts {
            return .retry(after: spread(wait(afterAttempt: attempt), by: random))
        }
        return hasLastAttempt ? .discard : .retryWithAlarm(after: spread(alarmInterval, by: random))
    }

    /// The wait after a failed attempt, before jitter.
    func wait(afterAttempt attempt: Int) -> Duration {
        let seconds = base.seconds * power(factor, max(0, attempt - 1))
        return seconds < cap.seconds ? .seconds(seconds) : cap
    }

    private func spread(_ wait: Duration, by random: Double) -> Duration {
        .seconds(wait.seconds * (1 - jitter + 2 * jitter * random))
    }

    private func power(_ base: Double, _ exponent: Int) -> Double {
        var result = 1.0
        // Past the cap further factors change nothing; the bound keeps a large exponent cheap.
        for _ in 0..<min(exponent, 1024) where result.isFinite { result *= base }
        return result
    }

    func check() throws(JobQueueError) {
        try JobField.checkRange(attempts, 1...32_000, field: "retry.attempts")
        try JobField.checkRange(base, .milliseconds(1)...(.seconds(86_400)), field: "retry.base")
        try JobField.checkRange(factor, 1...100, field: "retry.factor")
        try JobField.checkRange(cap, base...(.seconds(30 * 86_400)), field: "retry.cap")
        try JobField.checkRange(jitter, 0...1, field: "retry.jitter")
    }
}

extension Duration {
    /// The duration in seconds, with the precision of a Double.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
