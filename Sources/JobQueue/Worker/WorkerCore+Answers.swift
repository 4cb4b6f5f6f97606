/// What the answers to heartbeats say of others.
extension WorkerCore {
    /// A heartbeat that was sent at `sentAt` was answered.
    ///
    /// Returns how many failed before it.
    mutating func wasAnswered(sentAt: Instant, now: Instant) -> Int {
        if failedBeats > 0 || !book.trusts(now: sentAt) { answeredAgainAt = now }
        defer { failedBeats = 0 }
        return failedBeats
    }

    /// Whether this worker may take others for lost, and itself.
    ///
    /// Not while it was cut off from the database, or stood still, and a while longer: others that were so with it live,
    /// and are about to beat and to write what they have done. Taken for lost they would count a crash of each job that
    /// they run, and do again what is done.
    func mayRescue(now: Instant) -> Bool {
        guard book.trusts(now: now), failedBeats == 0 else { return false }
        return answeredAgainAt.map { $0.advanced(by: book.lifetime / 4) <= now } ?? true
    }
}
