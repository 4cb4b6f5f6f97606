/// How a job goes on that does not end.
struct NextTurn: Sendable, Hashable {
    /// How long to wait; nil to be available at once.
    var wait: Duration?
    /// Whether the attempt does not count.
    var givesAttemptBack = false
    /// What failed, if anything did.
    var failure: Verdict.Failure?
    /// Whether the usual attempts are used up.
    var isExhausted = false
    /// A crash count to go on with, or nil to leave it.
    var crashes: Int16?
    /// Whether its handler came through and asks to be called again: an alarm over what failed before is over.
    var isWell = false
}
