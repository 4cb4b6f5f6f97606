import Testing

@testable import JobQueue

/// Where claims begin, given the results of earlier claims.
@Suite struct ClaimBoundsTests {
    private static let start = ContinuousClock.now
    private static let key = ClaimBounds.Key(lane: .init(queue: "q", kind: "k"), priority: 5)

    private func instant(_ milliseconds: Int) -> ContinuousClock.Instant {
        Self.start.advanced(by: .milliseconds(milliseconds))
    }

    private func jobs(_ readyAt: Int64..., priority: Int16 = 5) -> [ClaimedJob] {
        readyAt.map {
            ClaimedJob(
                leased: JobLease(id: $0, lease: $0, worker: 1),
                queue: "q",
                kind: "k",
                attempt: 1,
                crashes: 0,
                maxAttempts: nil,
                argumentsVersion: 1,
                priority: priority,
                readyAt: $0,
                waited: 0,
                isCancelled: false,
                arguments: "{}"
            )
        }
    }

    @Test func theFirstClaimLooksAtEverything() {
        let bounds = ClaimBounds()
        #expect(bounds.bounds(now: instant(0)) == nil)
    }

    @Test func aFullClaimMovesTheBoundToItsLastRow() {
        var bounds = ClaimBounds()
        bounds.claimed(jobs(10, 20), isFull: true, wasBounded: false, now: instant(0))
        #expect(bounds.bounds(now: instant(1)) == [Self.key: 20])
        bounds.claimed(jobs(20, 30), isFull: true, wasBounded: true, now: instant(2))
        #expect(bounds.bounds(now: instant(3)) == [Self.key: 30])
        // A claim of another priority leaves the bound of the first as it is.
        bounds.claimed(jobs(5, priority: 1), isFull: true, wasBounded: true, now: instant(4))
        let urgent = ClaimBounds.Key(lane: Self.key.lane, priority: 1)
        #expect(bounds.bounds(now: instant(5)) == [Self.key: 30, urgent: 5])
        // A claim that was sent earlier may end below the bound, and does not lower it.
        bounds.claimed(jobs(7), isFull: true, wasBounded: true, now: instant(6))
        #expect(bounds.bounds(now: instant(7)) == [Self.key: 30, urgent: 5])
    }

    /// When late commits fill a claim there may be more of them: the next claim begins behind the last of these, not
    /// behind what was claimed before.
    @Test func aFullClaimOfEverythingResetsTheBoundToItsLastRow() {
        var bounds = ClaimBounds(fullScanInterval: .seconds(1))
        bounds.claimed(jobs(100), isFull: true, wasBounded: false, now: instant(0))
        #expect(bounds.bounds(now: instant(999)) == [Self.key: 100])
        #expect(bounds.bounds(now: instant(1000)) == nil)
        bounds.claimed(jobs(40, 50), isFull: true, wasBounded: false, now: instant(1000))
        #expect(bounds.bounds(now: instant(1001)) == [Self.key: 50])
    }

    @Test(arguments: [false, true]) func aShortClaimIsFollowedByALookAtEverything(_ wasBounded: Bool) {
        var bounds = ClaimBounds()
        bounds.claimed(jobs(100), isFull: true, wasBounded: false, now: instant(0))
        bounds.claimed(jobs(110), isFull: false, wasBounded: wasBounded, now: instant(1))
        #expect(bounds.bounds(now: instant(2)) == nil)
        #expect(bounds.nextFullScan == nil)
    }

    private static let moment: Int64 = 1_700_000_000_000_000

    /// Bounds after an empty claim of ten milliseconds, and a full scan that took this long.
    private func behindDeadRows(tookMilliseconds took: Int) -> ClaimBounds {
        var bounds = ClaimBounds()
        bounds.claimed([], isFull: false, wasBounded: false, took: .milliseconds(10), now: instant(0))
        #expect(bounds.bounds(now: instant(1)) == nil)
        bounds.claimed(
            jobs(Self.moment),
            isFull: false,
            wasBounded: false,
            took: .milliseconds(took),
            now: instant(100)
        )
        return bounds
    }

    /// The next claim begins one second below, in every queue, kind and priority.
    @Test func aShortClaimThatWasCostlyIsFollowedByOneFromWhereItEnded() throws {
        var bounds = behindDeadRows(tookMilliseconds: 15)
        var start = try #require(bounds.bounds(now: instant(200)))
        #expect(start[Self.key] == Self.moment - 1_000_000)
        #expect(start[.init(lane: .init(queue: "other", kind: "k"), priority: 0)] == Self.moment - 1_000_000)
        #expect(bounds.nextFullScan == instant(1100))
        bounds.claimed(
            jobs(Self.moment + 5_000_000),
            isFull: false,
            wasBounded: true,
            took: .milliseconds(9),
            now: instant(300)
        )
        start = try #require(bounds.bounds(now: instant(400)))
        #expect(start[Self.key] == Self.moment + 4_000_000)
        // A claim that found nothing does not move the start of the next one.
        bounds.claimed([], isFull: false, wasBounded: true, took: .milliseconds(9), now: instant(500))
        #expect(bounds.bounds(now: instant(600)) == start)
        #expect(bounds.bounds(now: instant(1100)) == nil)
        // The full scan is still costly: it runs once a second.
        bounds.claimed([], isFull: false, wasBounded: false, took: .milliseconds(20), now: instant(1100))
        #expect(bounds.bounds(now: instant(1200)) == start)
        #expect(bounds.nextFullScan == instant(2100))
        bounds.claimed([], isFull: false, wasBounded: false, took: .milliseconds(10), now: instant(2100))
        #expect(bounds.bounds(now: instant(2200)) == nil)
        #expect(bounds.nextFullScan == nil)
    }

    @Test func aShortClaimThatTookNoLongerIsFollowedByALookAtEverything() {
        let bounds = behindDeadRows(tookMilliseconds: 14)
        #expect(bounds.bounds(now: instant(200)) == nil)
    }

    /// When late commits fill a claim there may be more of them below any floor.
    @Test func aFullClaimOfEverythingForgetsTheFloor() throws {
        var bounds = behindDeadRows(tookMilliseconds: 15)
        bounds.claimed(
            jobs(Self.moment - 9),
            isFull: true,
            wasBounded: false,
            took: .milliseconds(15),
            now: instant(1100)
        )
        #expect(bounds.bounds(now: instant(1200)) == [Self.key: Self.moment - 9])
        #expect(try #require(bounds.bounds(now: instant(1200)))[.init(lane: Self.key.lane, priority: 9)] == 0)
    }
}
