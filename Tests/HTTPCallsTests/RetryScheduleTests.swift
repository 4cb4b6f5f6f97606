import HTTPCalls
import Testing

@Suite struct RetryScheduleTests {
    let policy = RetrySchedule.Policy(attempts: 4, firstPause: .seconds(1), longestPause: .seconds(3))

    @Test func pausesDoubleUpToTheLongestAndAttemptsAreBounded() {
        var schedule = RetrySchedule(policy: policy, repetition: .always)
        #expect(schedule.next(after: .timedOut, remaining: .seconds(60), jitter: 1) == .pause(.seconds(1)))
        #expect(schedule.next(after: .timedOut, remaining: .seconds(60), jitter: 1) == .pause(.seconds(2)))
        #expect(schedule.next(after: .timedOut, remaining: .seconds(60), jitter: 1) == .pause(.seconds(3)))
        #expect(schedule.next(after: .timedOut, remaining: .seconds(60), jitter: 1) == .finish)
    }

    @Test func jitterReachesDownToZero() {
        var schedule = RetrySchedule(policy: policy, repetition: .always)
        #expect(schedule.next(after: .interrupted, remaining: .seconds(60), jitter: 0) == .pause(.zero))
    }

    @Test func whatMayHaveActedIsNotRepeatedUnlessThatIsSafe() {
        let ambiguous: [HTTPOutcome] = [
            .timedOut, .interrupted, .reply(HTTPReply(status: 503)), .reply(HTTPReply(status: 429)),
        ]
        for outcome in ambiguous {
            var once = RetrySchedule(policy: policy, repetition: .onlyIfNothingWasSent)
            #expect(once.next(after: outcome, remaining: .seconds(60), jitter: 1) == .finish)
            var often = RetrySchedule(policy: policy, repetition: .always)
            #expect(often.next(after: outcome, remaining: .seconds(60), jitter: 1) == .pause(.seconds(1)))
        }
    }

    @Test func whatWasNeverSentIsRepeated() {
        var schedule = RetrySchedule(policy: policy, repetition: .onlyIfNothingWasSent)
        #expect(
            schedule.next(after: .unreachable(.refused), remaining: .seconds(60), jitter: 1) == .pause(.seconds(1))
        )
    }

    @Test(arguments: [200, 204, 301, 400, 401, 403, 404, 409, 501])
    func lastingAnswersStand(status: Int) {
        var schedule = RetrySchedule(policy: policy, repetition: .always)
        #expect(
            schedule.next(after: .reply(HTTPReply(status: status)), remaining: .seconds(60), jitter: 1) == .finish
        )
    }

    @Test func retryAfterIsHonoured() {
        var schedule = RetrySchedule(policy: policy, repetition: .always)
        let reply = HTTPOutcome.reply(HTTPReply(status: 429, retryAfter: .seconds(20)))
        #expect(schedule.next(after: reply, remaining: .seconds(60), jitter: 0.5) == .pause(.seconds(20)))
    }

    @Test func aPauseBeyondTheDeadlineIsNotTaken() {
        var schedule = RetrySchedule(policy: policy, repetition: .always)
        let reply = HTTPOutcome.reply(HTTPReply(status: 429, retryAfter: .seconds(20)))
        #expect(schedule.next(after: reply, remaining: .seconds(20), jitter: 1) == .finish)
    }
}
