import Synchronization

@testable import JobQueue

extension Worker {
    /// What its loop would write and ask for, to be carried out by hand: these outcomes, and a claim under this id.
    ///
    /// The claim is in the book of leases from then on.
    func madeExchange(
        _ batch: [FinishedJob] = [],
        claiming limit: Int,
        from scope: ClaimScope = .all,
        as id: Int64,
        plain: [Lane] = JobHarness.plainLanes,
        limited: [Lane] = [],
        limitedBounds: ClaimBounds.Start? = nil,
        plainGoesFirst: Bool = false,
        sentAt: ContinuousClock.Instant = .now
    ) -> Exchange {
        Exchange(
            batch: batch,
            limit: limit,
            scope: scope,
            request: .init(worker: id, limit: limit),
            plain: plain,
            limited: limited,
            limitedBounds: limitedBounds,
            number: core.withLock { $0.book.claimSent() },
            generation: 0,
            plainGoesFirst: plainGoesFirst,
            sentAt: sentAt
        )
    }
}
