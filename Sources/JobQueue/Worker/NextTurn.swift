/// How a job that has not ended continues.
struct NextTurn: Sendable, Hashable {
    /// How long to wait; nil to be available at once.
    var wait: Duration?
    /// Whether the attempt is given back and does not count.
    var givesAttemptBack = false
    /// What failed, if anything did.
    var failure: Verdict.Failure?
    /// Whether the usual attempts are used up.
    var isExhausted = false
    /// The new crash count; nil to keep it.
    var crashes: Int16?
    /// Whether its handler succeeded and asks to be called again, which ends an alarm about earlier failures.
    var isWell = false
}
