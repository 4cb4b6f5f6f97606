import Testing

@testable import JobQueue

/// What a worker makes of the answer to a heartbeat.
@Suite struct LeaseBookTests {
    private let start = ContinuousClock.now

    /// A book that holds jobs 1, 2 and 3 under leases 11, 12 and 13; the handler of the third is done.
    private func book() -> LeaseBook {
        var book = LeaseBook(lifetime: .seconds(60), now: start)
        book.registered(sentAt: start)
        let number = book.claimSent(now: start)
        let jobs = (1...3).map { (id: Int64($0), lease: Int64($0 + 10), deadline: start.advanced(by: .seconds(50))) }
        _ = book.claimReturned(number, jobs, sentIn: book.generation, now: start)
        _ = book.handlerDone(lease: 13)
        return book
    }

    /// Taken past its deadline, or by an operator, from a worker that lives.
    @Test func whatIsNoLongerHeldIsStopped() {
        var book = book()
        let beat = book.beat(now: start)
        let stops = book.answered(beat, isKnown: true, held: [12], cancelled: [], now: start)
        #expect(stops == [.init(lease: 11, reason: .leaseLost)])
        // What was written meanwhile has left the table by that.
        #expect(Set(book.entries.keys) == [12, 13])
        #expect(book.handlerDone(lease: 11) == nil)
        // Told once.
        #expect(book.answered(book.beat(now: start), isKnown: true, held: [12], cancelled: [], now: start) == [])
    }

    @Test func whatIsToBeCancelledIsToldOnce() {
        var book = book()
        let beat = book.beat(now: start)
        let stops = book.answered(beat, isKnown: true, held: [11, 12, 13], cancelled: [12, 13], now: start)
        #expect(stops == [.init(lease: 12, reason: .cancelRequested)])
        let again = book.answered(beat, isKnown: true, held: [11, 12, 13], cancelled: [12, 13], now: start)
        #expect(again == [])
    }

    @Test func aWorkerTakenForLostStopsEverything() {
        var book = book()
        let stops = book.answered(book.beat(now: start), isKnown: false, held: [11, 12], cancelled: [], now: start)
        #expect(Set(stops) == [.init(lease: 11, reason: .leaseLost), .init(lease: 12, reason: .leaseLost)])
        #expect(Set(book.entries.keys) == [13])
    }

    /// The server counts from when the heartbeat came in, so that what it gives to others is no longer trusted here.
    @Test func trustCountsFromTheSending() {
        var book = book()
        let sent = start.advanced(by: .seconds(30))
        _ = book.answered(
            book.beat(now: sent),
            isKnown: true,
            held: [11, 12],
            cancelled: [],
            now: start.advanced(by: .seconds(45))
        )
        #expect(book.trustedUntil == sent.advanced(by: .seconds(60)))
        #expect(book.tick(now: start.advanced(by: .seconds(89))).allSatisfy { $0.reason == .deadline })
        #expect(book.tick(now: start.advanced(by: .seconds(90))).allSatisfy { $0.reason == .leaseLost })
        #expect(Set(book.entries.keys) == [13])
    }
}
