/// What the answers to heartbeats say of others.
extension WorkerCore {
    /// A heartbeat was answered, of which the book of leases does not know yet.
    ///
    /// Returns how many failed before it.
    mutating func wasAnswered(now: Instant) -> Int {
        // The last answer that others had may be a quarter of a lease older than the one before this: what they hold may
        // be about to run out.
        if !book.trusts(now: now.advanced(by: book.lifetime / 2)) { answeredAgainAt = now }
        defer { failedBeats = 0 }
        return failedBeats
    }

    /// Whether this worker may take others for lost, and itself.
    ///
    /// Not while it is cut off from the database, or stood still, for so long that it may claim no more, and not at once
    /// after half of a lease without an answer: others that were so with it live, and are about to beat and to write what
    /// they have done. Taken for lost they would count a crash of each job that they run, and do again what is done.
    ///
    /// It goes by the time since the last answer, not by heartbeats that failed or succeeded: one may have waited for a
    /// connection all that time; and where each second one fails, what died has to be found all the same.
    func mayRescue(now: Instant) -> Bool {
        guard book.mayClaim(now: now) else { return false }
        return answeredAgainAt.map { $0.advanced(by: book.lifetime / 4) <= now } ?? true
    }
}
