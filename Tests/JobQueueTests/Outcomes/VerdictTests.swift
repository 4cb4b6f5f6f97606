import Foundation
import Testing

@testable import JobQueue

/// The verdict on a job, given the result of its handler and the reason why it was stopped.
@Suite struct VerdictTests {
    private struct Trouble: Error, CustomStringConvertible { let description = "no\u{1B}answer" }

    private static let now = Date(timeIntervalSince1970: 1_000_000)
    private static let cancelled = Verdict.end(.cancelled, reason: "cancelled while running")

    private func verdict(
        _ result: Result<JobOutcome, any Error>,
        _ stop: StopReason?,
        retry: RetryPolicy = .exponential(attempts: 3, base: .seconds(8), jitter: 0),
        attempt: Int16 = 1
    ) -> Verdict {
        let facts = Verdict.Facts(
            attempt: attempt,
            maxAttempts: nil,
            retry: retry,
            timeout: .seconds(60),
            now: Self.now,
            random: 0.5
        )
        return Verdict.of(result, stop: stop, facts)
    }

    /// A shutdown, a cancel and a lost lease are no failures of the job and use no attempt.
    @Test func whatAHandlerThrewBecauseItWasStoppedIsNoFailure() {
        let failed = Result<JobOutcome, any Error>.failure(Trouble())
        #expect(verdict(failed, .shutdown) == .release)
        #expect(verdict(failed, .cancelRequested) == Self.cancelled)
        #expect(verdict(failed, .leaseLost) == .nothing)
        let late = Verdict.Failure(attempt: 1, error: "did not end within \(Duration.seconds(60))")
        #expect(verdict(failed, .deadline) == .giveBack(NextTurn(wait: .seconds(8), failure: late)))
        let own = Verdict.Failure(attempt: 1, error: "no answer")
        #expect(verdict(failed, nil) == .giveBack(NextTurn(wait: .seconds(8), failure: own)))
    }

    /// A handler may catch its own cancellation and return it as a failure; a deploy would discard a kind with one
    /// attempt.
    @Test func aFailureReturnedAtAShutdownUsesNoAttempt() {
        for retry in [RetryPolicy.never, .exponential(attempts: 3), .withoutLastAttempt(attempts: 1)] {
            #expect(verdict(.success(.retry(reason: "cancelled")), .shutdown, retry: retry) == .release)
        }
        #expect(verdict(.success(.discard(reason: "no")), .shutdown) != .release)
    }

    /// The next worker would ask again at once whoever has just said when to.
    @Test func aWaitThatAHandlerAsksForIsKeptAtAShutdown() {
        let failure = Verdict.Failure(attempt: 1, error: "asked too often")
        for retry in [RetryPolicy.never, .exponential(attempts: 3), .withoutLastAttempt(attempts: 1)] {
            for (after, wait) in [(60, 60), (-1, 0)] {
                let next = NextTurn(wait: .seconds(wait), givesAttemptBack: true, failure: failure)
                let outcome = JobOutcome.retry(after: .seconds(after), reason: "asked too often")
                #expect(verdict(.success(outcome), .shutdown, retry: retry) == .giveBack(next))
            }
        }
    }

    @Test func whatIsDoneIsDoneThoughItWasToStop() {
        for stop in [StopReason.shutdown, .cancelRequested, .deadline] {
            #expect(verdict(.success(.completed()), stop) == .end(.completed))
        }
        #expect(verdict(.success(.completed()), .leaseLost) == .nothing)
        // An outcome that would run the job again is replaced by the cancel.
        for outcome in [JobOutcome.snooze(until: .distantFuture), .retry(reason: "no")] {
            #expect(verdict(.success(outcome), .cancelRequested) == Self.cancelled)
        }
    }

    /// No call was begun: the job goes to a worker that has enough time for it.
    @Test func aLeaseThatIsTooShortUsesNoAttempt() {
        let short = JobQueueError(.leaseTooShort, "the lease ends before a call would")
        #expect(verdict(.failure(short), nil) == .giveBack(NextTurn(wait: .seconds(1), givesAttemptBack: true)))
        #expect(verdict(.failure(JobQueueError(.leaseLost, "it is another's")), nil) == .nothing)
    }

    @Test func aWaitIsOneThatTheDatabaseCanHold() {
        let none = Date(timeIntervalSince1970: .nan)
        let instants: [(until: Date, seconds: Double)] = [
            (Self.now - 5, 0), (Self.now - 1e15, 0), (none, 0), (Self.now + 5, 5), (.distantFuture, 3.2e9),
        ]
        for (until, seconds) in instants {
            let latest = Self.now + seconds
            let next = NextTurn(wait: .seconds(seconds), until: latest, givesAttemptBack: true, isWell: true)
            #expect(verdict(.success(.snooze(until: until)), nil) == .giveBack(next))
        }
    }

    /// A handler that asks for an early retry must not turn a daily alarm into a loop.
    @Test func whatIsNeverGivenUpWaitsForADayAtLeast() {
        let policy = RetryPolicy.withoutLastAttempt(attempts: 1, jitter: 0)
        let failure = Verdict.Failure(attempt: 1, error: "no")
        for (after, wait) in [(nil, 86_400), (5, 86_400), (100_000, 100_000)] as [(Int?, Int)] {
            let outcome = JobOutcome.retry(after: after.map { .seconds($0) }, reason: "no")
            let next = NextTurn(wait: .seconds(wait), failure: failure, isExhausted: true)
            #expect(verdict(.success(outcome), nil, retry: policy) == .giveBack(next))
        }
        let last = verdict(.success(.retry(after: .seconds(5), reason: "no")), nil, retry: .never)
        #expect(last == .end(.discarded, reason: "no", failure: failure))
    }

    @Test func whatIsStoredOfAnErrorIsBounded() {
        #expect(Verdict.sanitized("a\u{7}b\nc\u{85}") == "a b c ")
        #expect(Verdict.sanitized(String(repeating: "ü", count: 501)).unicodeScalars.count == 500)
    }
}
