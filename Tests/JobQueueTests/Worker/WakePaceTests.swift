import Testing

@testable import JobQueue

/// When workers are notified: no signal is lost, and few notifications cover many jobs.
struct WakePaceTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start.advanced(by: .milliseconds(milliseconds))
    }

    @Test func theFirstIsSentAtOnceByWhoeverBringsIt() {
        var pace = WakePace(interval: .milliseconds(2))
        let due = pace.signal(["a"], now: start)
        #expect(due == ["a"])
        #expect(pace.pending == [])
        let later = pace.signal(["b"], now: after(2))
        #expect(later == ["b"])
    }

    /// A caller that asks for a turn that another has leaves nothing pending.
    @Test func aTurnIsTakenOncePerInterval() {
        var pace = WakePace(interval: .milliseconds(2))
        let turns = [0, 1, 2].map { pace.takeTurn(now: after($0)) }
        #expect(turns == [true, false, false], "a commit takes longer than the interval")
        #expect(pace.pending == [])
        pace.endTurn()
        let next = pace.takeTurn(now: after(3))
        #expect(next)
        let meanwhile = pace.signal(["a"], now: after(9))
        #expect(meanwhile == [])
        pace.endTurn()
        let late = pace.takeTurn(now: after(10))
        #expect(!late, "what is pending goes first")
    }

    @Test func whatFollowsWithinTheIntervalIsSentTogetherAtItsEnd() {
        var pace = WakePace(interval: .milliseconds(2))
        _ = pace.signal(["a"], now: start)
        let second = pace.signal(["a"], now: after(1))
        #expect(second == [])
        #expect(pace.wait(now: after(1)) == .milliseconds(1))
        // Pending queues go first, however late: the interval runs from there.
        let third = pace.signal(["b"], now: after(3))
        #expect(third == [])
        let taken = pace.take(after: 2, now: after(3))
        #expect(taken == ["a", "b"])
        #expect(pace.pending == [])
        let fourth = pace.signal(["c"], now: after(4))
        #expect(fourth == [])
    }

    /// The interval grows in a stream of thousands of jobs a second, which needs no notification every two
    /// milliseconds, and shrinks after it.
    @Test func theIntervalGrowsWithTheStreamAndShrinksAfterIt() {
        var pace = WakePace(interval: .milliseconds(2))
        var now = start
        var waits: [Duration] = []
        _ = pace.signal(["a"], now: now)
        for _ in 0..<6 {
            _ = pace.signal(["a"], now: now)
            waits.append(pace.wait(now: now))
            now = now.advanced(by: pace.wait(now: now))
            _ = pace.take(after: 20, now: now)
        }
        #expect(waits == [2, 4, 8, 16, 16, 16].map { Duration.milliseconds($0) })
        _ = pace.signal(["a"], now: now)
        now = now.advanced(by: pace.wait(now: now))
        _ = pace.take(after: 1, now: now)
        #expect(pace.wait(now: now) == .milliseconds(2))
    }

    @Test func whatCouldNotBeSentIsStillToBeSent() {
        var pace = WakePace(interval: .milliseconds(2))
        let due = pace.signal(["a"], now: start)
        pace.keep(due)
        #expect(pace.wait(now: after(1)) == .milliseconds(1))
        let taken = pace.take(after: 0, now: after(2))
        #expect(taken == ["a"])
    }
}
