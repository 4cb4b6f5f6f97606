/// A job whose handler has ended, with the outcome to write.
struct FinishedJob: Sendable {
    let job: ClaimedJob
    var verdict: Verdict
    /// Whether the outcome was sent before, or the handler ended the job itself, and the answer was lost: it may
    /// already be written.
    var isInDoubt = false
    /// Whether another session had its row locked at the last attempt to write it.
    var wasLocked = false
}
