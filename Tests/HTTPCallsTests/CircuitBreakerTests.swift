import Foundation
import HTTPCalls
import Testing

@Suite struct CircuitBreakerTests {
    let start = Date(timeIntervalSince1970: 1_700_000_000)

    private func permit(_ admission: CircuitBreaker.Admission) throws -> CircuitBreaker.Permit {
        switch admission {
        case .proceed(let permit), .probe(let permit): return permit
        case .refuse(let until):
            Issue.record("refused until \(until)")
            throw CancellationError()
        }
    }

    /// A breaker that opened at `start`.
    private func opened() throws -> CircuitBreaker {
        var breaker = CircuitBreaker()
        breaker.fail(try permit(breaker.admit(at: start)), at: start)
        return breaker
    }

    @Test func opensAfterAFailure() throws {
        var breaker = CircuitBreaker()
        breaker.succeed(try permit(breaker.admit(at: start)))
        #expect(breaker.state == .closed)
        breaker.fail(try permit(breaker.admit(at: start)), at: start)
        #expect(breaker.state == .open(until: start + 30, cooldown: .seconds(30)))
        #expect(breaker.admit(at: start + 29) == .refuse(until: start + 30))
    }

    @Test func oneProbeDecides() throws {
        var breaker = try opened()
        guard case .probe(let probe) = breaker.admit(at: start + 30) else {
            Issue.record("no probe after the pause")
            return
        }
        #expect(breaker.admit(at: start + 31) == .refuse(until: start + 90))
        breaker.succeed(probe)
        #expect(breaker.state == .closed)
        guard case .proceed = breaker.admit(at: start + 32) else {
            Issue.record("a closed breaker lets calls pass")
            return
        }
    }

    @Test func aFailedProbeDoublesThePauseUpToTheLongest() throws {
        var breaker = try opened()
        var now = start + 30
        for pause in [60, 120, 240, 480, 960, 1800, 1800] {
            breaker.fail(try permit(breaker.admit(at: now)), at: now)
            #expect(breaker.state == .open(until: now + TimeInterval(pause), cooldown: .seconds(pause)))
            now += TimeInterval(pause)
        }
    }

    @Test func aProbeThatLearnedNothingKeepsThePause() throws {
        var breaker = try opened()
        breaker.abandon(try permit(breaker.admit(at: start + 30)), at: start + 40)
        #expect(breaker.state == .open(until: start + 70, cooldown: .seconds(30)))
    }

    @Test func aLostProbeIsReplaced() throws {
        var breaker = try opened()
        let lost = try permit(breaker.admit(at: start + 30))
        guard case .probe = breaker.admit(at: start + 90) else {
            Issue.record("no second probe")
            return
        }
        breaker.succeed(lost)
        #expect(breaker.state == .halfOpen(since: start + 90, cooldown: .seconds(30)))
    }

    @Test func stragglersDecideNothing() throws {
        var breaker = CircuitBreaker()
        let early = try permit(breaker.admit(at: start))
        breaker.fail(try permit(breaker.admit(at: start)), at: start)
        breaker.succeed(early)
        #expect(breaker.state == .open(until: start + 30, cooldown: .seconds(30)))
        let probe = try permit(breaker.admit(at: start + 30))
        breaker.fail(early, at: start + 31)
        #expect(breaker.state == .halfOpen(since: start + 30, cooldown: .seconds(30)))
        breaker.succeed(probe)
        #expect(breaker.state == .closed)
    }

    @Test func aClockSetBackDoesNotProlongThePause() throws {
        var breaker = try opened()
        guard case .probe = breaker.admit(at: start - 86400) else {
            Issue.record("a breaker stayed open because the clock went back")
            return
        }
    }
}
