/// What claims bring.
extension WorkerCore {
    /// Takes note of what a claim found, of so many that were wanted in the end: whether there may be more, and where the
    /// next ones begin.
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
        // A claim of urgent jobs says nothing about where the others begin.
        if exchange.scope == .all, let plain {
            bounds.claimed(
                plainJobs,
                isFull: isPlainFull,
                wasBounded: wasBounded,
                took: plain.took,
                now: exchange.sentAt
            )
        }
        // A claim of urgent jobs is not the full look that is due, either; but where it was cut short, the next one
        // continues from it.
        let limitedWasBounded = exchange.limitedBounds != nil
        if let limited, exchange.scope == .all || limitedWasBounded || limited.isCut {
            limitedBounds.claimed(limited, wasBounded: limitedWasBounded, now: exchange.sentAt, endedAt: now)
        }
        // Full in either part: there may be more.
        let isLimitedFull = limitedJobs.count >= exchange.share(of: wanted)
        if isPlainFull || isLimitedFull || limited?.isCut == true { plan.leftSome(of: exchange.scope) }
        plan.claimed(plainJobs.count, isCut: plain?.isCut ?? false, now: now)
        // A bounded claim that came back short has not looked at everything.
        if wasBounded, !isPlainFull { plan.looks(at: bounds.nextFullScan ?? now) }
    }

    /// Takes over the jobs of a claim, whose handlers are about to start.
    ///
    /// False when the trust ended meanwhile: then they are to be released.
    mutating func begins(_ claimed: [RunningJob], under number: Int, sentIn generation: Int, now: Instant) -> Bool {
        let leases = claimed.map { (job: $0.job.leased, deadline: $0.deadline) }
        guard book.claimReturned(number, leases, sentIn: generation, now: now) else { return false }
        for job in claimed { jobs[job.job.leased] = job }
        plan.running += claimed.count
        return true
    }
}
