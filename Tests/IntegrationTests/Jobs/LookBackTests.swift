import Foundation
import Testing

@testable import accountctl

@Suite("The time from which a watch reads changes", .timeLimit(.minutes(5)))
struct LookBackTests {
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// Makes a look at the time `now` that finds the last change at `last`, and returns the time from which it read.
    ///
    /// All times are in seconds after the start.
    private func look(_ lookBack: inout LookBack, now: TimeInterval, last: TimeInterval?) -> TimeInterval {
        let now = start.addingTimeInterval(now)
        lookBack.begin(now: now)
        let since = lookBack.since
        lookBack.end(began: now, last: last.map(start.addingTimeInterval))
        return since.timeIntervalSince(start)
    }

    @Test("It follows the last change, and looks back a little for transactions that commit late")
    func follows() {
        var lookBack = LookBack(from: start)
        let looks: [(TimeInterval, TimeInterval?)] = [(1, 1), (30, 29.5), (31, nil), (32, 32)]
        let since = looks.map { now, last in look(&lookBack, now: now, last: last) }
        #expect(since == [0, 0, 19.5, 19.5])
        #expect(lookBack.since.timeIntervalSince(start) == 22)
    }

    @Test("If nothing that is watched changes for days, minutes of other changes are read, not days")
    func quiet() {
        var lookBack = LookBack(from: start)
        var since = 0.0
        for minute in 1...2880 { since = look(&lookBack, now: Double(minute) * 60, last: nil) }
        #expect(since == 2879 * 60 - 600)
    }

    @Test("By a clock that is behind, as another server's may be, it never starts to read at a time in the future")
    func behind() {
        var lookBack = LookBack(from: start)
        let looks: [(TimeInterval, TimeInterval?)] = [(100, 100), (40, 100), (41, 100), (60, 100), (111, 111)]
        let since = looks.map { now, last in look(&lookBack, now: now, last: last) }
        #expect(since == [0, 40, 40, 40, 50])
    }

    @Test("After a look that took long, the server has as much time for everything else, up to five seconds")
    func rests() {
        let looks: [(took: Duration, pause: Duration)] = [
            (.zero, .milliseconds(250)), (.seconds(2), .seconds(2)), (.seconds(60), .seconds(5)),
        ]
        for (took, pause) in looks { #expect(CommandContext.pause(afterLookOf: took) == pause) }
    }
}
