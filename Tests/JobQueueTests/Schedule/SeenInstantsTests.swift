import Testing

@testable import JobQueue

/// When a worker looks at a schedule, without a table or a clock.
@Suite struct SeenInstantsTests {
    private func mayHaveCome(_ seen: inout SeenInstants, by now: Int, as worker: Int64 = 1) -> Bool {
        seen.mayHaveCome("often", by: now, as: worker)
    }

    @Test func aScheduleIsLookedAtOnceAMinute() {
        var seen = SeenInstants()
        var looks: [Int] = []
        for now in stride(from: 595, through: 725, by: 5) where mayHaveCome(&seen, by: now) {
            looks.append(now)
            seen.saw("often", now / 60 * 60, at: now, as: 1)
        }
        #expect(looks == [595, 600, 660, 720])
        #expect(seen.last(of: "often") == 720)
        #expect(seen.last(of: "other") == nil)
        // The clock was set back.
        #expect(mayHaveCome(&seen, by: 700))
    }

    /// An instant whose handling failed is tried again.
    @Test func whatWasNotDealtWithIsLookedAtAgain() {
        var seen = SeenInstants()
        for now in [600, 601] { #expect(mayHaveCome(&seen, by: now)) }
    }

    /// Writes under another registration may be gone, even those that are reported only now.
    @Test func aRegistrationBeginsAnew() {
        var seen = SeenInstants()
        seen.saw("often", 600, at: 600, as: nil)
        #expect(mayHaveCome(&seen, by: 601, as: 1))
        #expect(seen.last(of: "often") == nil)
        seen.saw("often", 600, at: 601, as: 1)
        #expect(!mayHaveCome(&seen, by: 602, as: 1))
        #expect(mayHaveCome(&seen, by: 603, as: 2))
        seen.saw("often", 600, at: 603, as: 1)
        #expect(seen.last(of: "often") == nil)
        #expect(mayHaveCome(&seen, by: 604, as: 2))
    }
}
