import Testing

@testable import JobQueue

@Suite struct RetryPolicyTests {
    @Test func waitsGrowToTheCap() {
        let policy = RetryPolicy.exponential(attempts: 50, base: .seconds(2), factor: 3, cap: .seconds(100), jitter: 0)
        let waits = (1...6).map { policy.wait(afterAttempt: $0) }
        #expect(waits == [.seconds(2), .seconds(6), .seconds(18), .seconds(54), .seconds(100), .seconds(100)])
        #expect(policy.wait(afterAttempt: 32_000) == .seconds(100))
    }

    @Test func jitterSpreadsToBothSides() {
        let policy = RetryPolicy.exponential(base: .seconds(10), jitter: 0.2)
        #expect(policy.decision(afterAttempt: 1, random: 0) == .retry(after: .seconds(8)))
        #expect(policy.decision(afterAttempt: 1, random: 0.5) == .retry(after: .seconds(10)))
    }

    @Test func theLastAttemptDiscards() {
        let policy = RetryPolicy.exponential(attempts: 3)
        #expect(policy.decision(afterAttempt: 2, random: 0) != .discard)
        #expect(policy.decision(afterAttempt: 3, random: 0) == .discard)
        #expect(policy.decision(afterAttempt: 3, override: 5, random: 0) != .discard)
        #expect(policy.decision(afterAttempt: 1, override: 1, random: 0) == .discard)
        #expect(RetryPolicy.never.decision(afterAttempt: 1, random: 0) == .discard)
    }

    @Test func withoutLastAttemptNothingIsGivenUp() {
        let policy = RetryPolicy.withoutLastAttempt(attempts: 2, jitter: 0)
        #expect(policy.decision(afterAttempt: 1, random: 0) == .retry(after: .seconds(1)))
        for attempt in [2, 3, 1000] {
            #expect(policy.decision(afterAttempt: attempt, random: 0) == .retryWithAlarm(after: .seconds(86_400)))
        }
    }
}
