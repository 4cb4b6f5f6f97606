import Testing

@testable import EventThread

@Suite struct WaitAlarmTests {
    private let start = ContinuousClock.now

    /// An alarm that has seen enough waits to count its thread as one that waits often.
    private func busy() -> WaitAlarm {
        var alarm = WaitAlarm()
        for _ in 0..<32 { #expect(alarm.limit(until: start + .seconds(1), now: start) == .own) }
        return alarm
    }

    @Test func aWaitWithoutADeadlineHasNoLimit() {
        var alarm = WaitAlarm()
        #expect(alarm.limit(until: nil, now: start) == .none)
    }

    @Test func rareWaitsLimitThemselves() {
        var alarm = WaitAlarm()
        for count in 0..<1000 {
            let now = start + .milliseconds(200) * count
            #expect(alarm.limit(until: now + .seconds(1), now: now) == .own)
        }
    }

    @Test func waitsThatComeOftenShareOneAlarm() {
        var alarm = busy()
        let ring = start + .milliseconds(501)
        #expect(alarm.limit(until: start + .seconds(1), now: start + .milliseconds(1)) == .alarm(at: ring))
        #expect(alarm.limit(until: start + .seconds(2), now: start + .milliseconds(2)) == .none)
        #expect(alarm.limit(until: ring, now: start + .milliseconds(3)) == .none)
        // The alarm has rung. The next one is set only after waits have been counted anew.
        #expect(alarm.limit(until: start + .seconds(2), now: ring) == .own)
    }

    @Test func anAlarmNeverRingsAfterTheDeadline() {
        var alarm = busy()
        #expect(alarm.limit(until: start + .milliseconds(300), now: start) == .alarm(at: start + .milliseconds(300)))
        #expect(alarm.limit(until: start + .milliseconds(200), now: start) == .alarm(at: start + .milliseconds(200)))
    }

    @Test func withoutAlarmsEachWaitLimitsItself() {
        var alarm = busy()
        #expect(alarm.limit(until: start + .milliseconds(300), now: start) == .alarm(at: start + .milliseconds(300)))
        alarm.failed()
        for _ in 0..<100 { #expect(alarm.limit(until: start + .seconds(1), now: start) == .own) }
    }

    @Test func whatIsOverSoonLimitsItself() {
        var alarm = busy()
        #expect(alarm.limit(until: start + .milliseconds(50), now: start) == .own)
        #expect(alarm.limit(until: start - .seconds(1), now: start) == .own)
    }
}
