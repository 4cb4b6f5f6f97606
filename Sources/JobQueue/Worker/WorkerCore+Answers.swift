/// What the server's answers say of others.
extension WorkerCore {
    /// The worker got an id by a statement sent at `sentAt`, when the server's clock said `serverTime`.
    mutating func registered(_ id: Int64, serverTime: Int64, sentAt: Instant, now: Instant) {
        worker = id
        server.clock = (serverTime, now)
        book.registered(sentAt: sentAt)
        // The database may have been away for all, and be there again since this moment.
        server.answeredSince = now
        plan.wake()
    }

    /// A heartbeat was answered, of which the book of leases does not know yet; by a server whose clock said `serverTime`,
    /// where it still knows this worker.
    ///
    /// Returns how many failed before it.
    mutating func wasAnswered(serverTime: Int64?, now: Instant) -> Int {
        // The last answer that others had may be a quarter of a lease older than the one before this: what they hold may
        // be about to run out. It ends by the server's clock, which may have been set.
        let half = book.lifetime / 2 + server.leap(to: serverTime, now: now)
        if !book.trusts(now: now.advanced(by: half)) { server.answeredSince = now }
        defer { server.failedBeats = 0 }
        return server.failedBeats
    }

    /// Whether this worker may take others for lost, and itself.
    ///
    /// Not while it is cut off from the database, or stood still, for so long that it may claim no more, and not at once
    /// when it begins, or after half of a lease without an answer: others that were cut off with it live, and are about to
    /// beat and to write what they have done. Taken for lost they would count a crash of each job that they run, and do
    /// again what is done.
    ///
    /// It goes by the time since the last answer, not by heartbeats that failed or succeeded: one may have waited for a
    /// connection all that time; and where each second one fails, what died has to be found all the same.
    func mayRescue(now: Instant) -> Bool {
        guard book.mayClaim(now: now) else { return false }
        return server.answeredSince.map { $0.advanced(by: book.lifetime / 4) <= now } ?? true
    }
}
