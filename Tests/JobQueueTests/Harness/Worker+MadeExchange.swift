import Synchronization

@testable import JobQueue

extension Worker {
    /// Makes an exchange as the worker's loop would, to be carried out by hand: these outcomes, and a claim under this
    /// id.
    ///
    /// The book of leases counts the claim as sent from then on.
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
