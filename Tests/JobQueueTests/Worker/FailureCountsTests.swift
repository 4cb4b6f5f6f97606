import Logging
import Testing

@testable import JobQueue

/// How often the log warns of a task that fails again and again.
@Suite struct FailureCountsTests {
    @Test func theFirstOfARowAndEveryHundredthAreWarnings() {
        var counts = FailureCounts()
        var warned: [Int] = []
        for _ in 1...250 {
            let (times, level) = counts.failed("vacuum")
            if level == .warning { warned.append(times) }
        }
        #expect(warned == [1, 101, 201])
        // Another task, and one that succeeded meanwhile, begin a row of their own.
        let other = counts.failed("rescue")
        #expect(other.level == .warning)
        counts.succeeded("vacuum")
        let again = counts.failed("vacuum")
        #expect(again.times == 1)
        #expect(again.level == .warning)
    }
}
