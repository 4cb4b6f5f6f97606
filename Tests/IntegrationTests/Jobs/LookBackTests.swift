import Foundation
import Testing

@testable import accountctl

@Suite("From when on a watch reads what changed", .timeLimit(.minutes(5)))
struct LookBackTests {
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// A look in which the last change was so many seconds after the start, by a clock that shows so many.
    private func look(_ lookBack: inout LookBack, now: TimeInterval, last: TimeInterval?) -> TimeInterval {
        let now = start.addingTimeInterval(now)
        lookBack.begin(now: now)
        let since = lookBack.since
        lookBack.end(began: now, last: last.map(start.addingTimeInterval))
        return since.timeIntervalSince(start)
    }

    @Test("It follows what changes, and looks back a little for what commits late")
    func follows() {
        var lookBack = LookBack(from: start)
        let looks: [(TimeInterval, TimeInterval?)] = [(1, 1), (30, 29.5), (31, nil), (32, 32)]
        let since = looks.map { now, last in look(&lookBack, now: now, last: last) }
        #expect(since == [0, 0, 19.5, 19.5])
        #expect(lookBack.since.timeIntervalSince(start) == 22)
    }

    @Test("Where nothing changes of what is watched for days, minutes of all else are read, and not days")
    func quiet() {
        var lookBack = LookBack(from: start)
        var since = 0.0
        for minute in 1...2880 { since = look(&lookBack, now: Double(minute) * 60, last: nil) }
        #expect(since == 2879 * 60 - 600)
    }

    @Test("By a clock that is behind, as another server's may be, it never reads from a time on that is still to come")
    func behind() {
        var lookBack = LookBack(from: start)
        let looks: [(TimeInterval, TimeInterval?)] = [(100, 100), (40, 100), (41, 100), (60, 100), (111, 111)]
        let since = looks.map { now, last in look(&lookBack, now: now, last: last) }
        #expect(since == [0, 40, 40, 40, 50])
    }
}
