/// Recording the results of claims.
extension WorkerCore {
    /// Records what a claim found out of the number wanted: whether there may be more, and where the next claims begin.
    mutating func claimed(
        _ plain: PlainClaim?,
        _ limited: LimitedClaim?,
        of exchange: Worker.Exchange,
        wanted: Int,
        now: Instant
    ) {
        let plainJobs = plain?.jobs ?? []
        let limitedJobs = limited?.jobs ?? []
        guard exchange.scope != .suspects else {
            if let suspect = limitedJobs.first ?? plainJobs.first {
                suspects.took(suspect.leased)
            } else {
                suspects.noneLeft(now: exchange.sentAt)
            }
            return
        }
        let wasBounded = exchange.request?.bounds != nil
        let isPlainFull = plainJobs.count >= wanted - (exchange.plainGoesFirst ? 0 : limitedJobs.count)
        // A claim of urgent jobs says nothing about where others begin.
        if exchange.scope == .all, let plain {
            bounds.claimed(
                plainJobs,
                isFull: isPlainFull,
                wasBounded: wasBounded,
                took: plain.took,
                now: exchange.sentAt
            )
        }
        // A claim of urgent jobs does not replace the full scan that is due, either; but if it was cut short, the next
        // one continues from it.
        let limitedWasBounded = exchange.limitedBounds != nil
        if let limited, exchange.scope == .all || limitedWasBounded || limited.isCut {
            limitedBounds.claimed(limited, wasBounded: limitedWasBounded, now: exchange.sentAt, endedAt: now)
        }
        // If either part is full, there may be more.
        let isLimitedFull = limitedJobs.count >= exchange.share(of: wanted)
        if isPlainFull || isLimitedFull || limited?.isCut == true { plan.leftSome(of: exchange.scope) }
        plan.claimed(plainJobs.count, isCut: plain?.isCut ?? false, now: now)
        // A bounded claim that came back short has not searched everything.
        if wasBounded, !isPlainFull { plan.looks(at: bounds.nextFullScan ?? now) }
    }

    /// Adds the jobs of a claim, whose handlers are about to start.
    ///
    /// Returns false if the trust ended meanwhile: then the jobs have to be released.
    mutating func begins(_ claimed: [RunningJob], under number: Int, sentIn generation: Int, now: Instant) -> Bool {
        let leases = claimed.map { (job: $0.job.leased, deadline: $0.deadline) }
        guard book.claimReturned(number, leases, sentIn: generation, now: now) else { return false }
        for job in claimed { jobs[job.job.leased] = job }
        plan.running += claimed.count
        return true
    }
}
