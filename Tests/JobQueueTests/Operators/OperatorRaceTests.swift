import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Operators and workers that act on the same job at the same time.
@Suite(.timeLimit(.minutes(5))) struct OperatorRaceTests {
    /// A newer job takes the unique key while the old one is brought back: the retry gets its own error code, not one
    /// of the database.
    @Test func aRetryMeetsANewerJobOfItsKey() async throws {
        try await JobHarness.with { harness in
            let old = try await harness.enqueue([JobHarness.plain.job(Note(), uniqueKey: "k")])[0].id
            try await harness.pool.withConnection { connection in
                try harness.queue.discard(old, reason: "test", on: connection)
            }
            let retried = try await harness.pool.withTransaction { newer in
                _ = try harness.queue.enqueue([JobHarness.plain.job(Note(), uniqueKey: "k")], on: newer)
                let retried = Task {
                    try await harness.pool.withConnection { connection in try harness.queue.retry(old, on: connection) }
                }
                try await newer.waitUntilSomebodyIsBlocked()
                return retried
            }
            let error = await #expect(throws: JobQueueError.self) { try await retried.value }
            #expect(error?.code == .liveDuplicate)
            #expect(try await harness.show(old)?.record.state == .discarded)
        }
    }

    /// Both operators get what they asked for: the job runs again.
    @Test func aRetryMeetsARetry() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([JobHarness.plain.job(Note())])[0].id
            try await harness.pool.withConnection { connection in
                try harness.queue.discard(id, reason: "test", on: connection)
            }
            let second = try await harness.pool.withTransaction { first in
                _ = try harness.queue.retry(id, on: first)
                let second = Task {
                    try await harness.pool.withConnection { connection in try harness.queue.retry(id, on: connection) }
                }
                try await first.waitUntilSomebodyIsBlocked()
                return second
            }
            #expect(try await second.value == JobHarness.plain.queue)
            #expect(try await harness.show(id)?.record.state == .available)
        }
    }

    @Test func aCancelMeetsARetry() async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.claimed()
            let result = try await harness.pool.withConnection { connection in
                try harness.queue.cancel(job.id, reason: "x", on: connection)
            }
            #expect(result == .requested)
            let verdict = Verdict.giveBack(.init(wait: .seconds(9)))
            let written = try await harness.write([FinishedJob(job: job, verdict: verdict)])
            #expect(written.landed == [job.leased])
            #expect(try await harness.finished("cancelled") == 1)
        }
    }

    /// A job that is handed back before the cancel looks among running jobs, and claimed again before its next look, is
    /// found all the same.
    @Test func aCancelMeetsAJobThatChangesHands() async throws {
        try await JobHarness.with { harness in
            let (worker, job) = try await harness.claimed()
            try await harness.execute(
                """
                create function public.take_turn() returns trigger language plpgsql as $$
                declare
                    turn int := nullif(current_setting('test.turn', true), '')::int + 1;
                begin
                    if turn is not null then
                        perform set_config('test.turn', turn::text, false), pg_advisory_xact_lock(turn);
                    end if;
                    return null;
                end
                $$
                """
            )
            try await harness.execute(
                """
                create trigger take_turn before update or delete on accountctl.jobs
                for each statement execute function public.take_turn()
                """
            )
            let result = try await harness.pool.withConnection { other in
                try other.execute("select pg_advisory_lock(2), pg_advisory_lock(3)")
                let result = Task {
                    // No transaction: it would keep the row locked from the first statement that finds it changed.
                    try await harness.pool.withConnection { connection in
                        try connection.execute(
                            "select set_config('test.turn', '0', false), set_config('lock_timeout', '0', false)"
                        )
                        return try harness.queue.cancel(job.id, reason: nil, on: connection)
                    }
                }
                // When the cancel looked among waiting jobs, the job was running.
                try await other.waitUntilSomebodyIsBlocked()
                let released = try await harness.pool.withConnection { connection in
                    try harness.queue.release([job.leased], on: connection)
                }
                #expect(released == [job.leased])
                try other.execute("select pg_advisory_unlock(2)")
                // When the cancel looked among running jobs, the job was waiting.
                try await other.waitUntilSomebodyIsBlocked()
                #expect(try await harness.claim(worker).map(\.id) == [job.id])
                try other.execute("select pg_advisory_unlock(3)")
                return result
            }
            #expect(try await result.value == .requested)
        }
    }

    /// A job whose handler does not stop runs elsewhere, and raises an alarm once its usual attempts are used up.
    @Test func aJobWhoseHandlerDoesNotStopIsTakenAndToldAtLast() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([try JobHarness.plain.job(Note())])
            let worker = try await harness.host()
            for attempt in 1...2 {
                let job = try await harness.claim(worker)[0]
                let taken = try await harness.pool.withConnection { connection in
                    try harness.queue.takeOverdue(
                        [job.leased],
                        alarmed: ["test.plain": .withoutLastAttempt(attempts: 2)],
                        on: connection
                    )
                }
                #expect(taken == 1)
                // The late outcome of the stuck handler is not written.
                #expect(try await !harness.finish(job))
                let alarms =
                    "select count(*) from accountctl.jobs where exhausted_at is not null and run_at > now() + interval '1 hour'"
                #expect(try await harness.count(Statement(unsafeSQL: alarms)) == (attempt == 2 ? 1 : 0))
                try await harness.execute("update accountctl.jobs set run_at = now(), state = 'available'")
            }
        }
    }

    /// A job that is woken while it runs may not have seen the reason for the wake-up: it runs once more without
    /// waiting.
    @Test(arguments: [false, true]) func aJobThatIsWokenWhileItRunsRunsOnceMore(_ isWoken: Bool) async throws {
        try await JobHarness.with { harness in
            let (worker, job) = try await harness.claimed()
            if isWoken { try await harness.execute("update accountctl.jobs set run_at = clock_timestamp()") }
            let verdict = Verdict.giveBack(.init(wait: .seconds(3600), givesAttemptBack: true))
            #expect(try await harness.write([FinishedJob(job: job, verdict: verdict)]).landed == [job.leased])
            let again = try await harness.claim(worker)
            #expect(again.count == (isWoken ? 1 : 0))
            // It runs again only once.
            guard let next = again.first else { return }
            #expect(try await harness.write([FinishedJob(job: next, verdict: verdict)]).landed == [next.leased])
            #expect(try await harness.claim(worker).isEmpty)
        }
    }

    /// A job that is claimed before the transaction that woke it commits would not see that transaction's writes, and
    /// would wait for its next turn.
    @Test func aJobThatIsWokenBeforeItRunsIsNotClaimedTooEarly() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([try JobHarness.plain.job(Note(), uniqueKey: "woken")])
            let worker = try await harness.host()
            try await harness.pool.withTransaction { connection in
                let woken = try harness.queue.runNow(keys: ["woken"], on: connection)
                #expect(woken == 0)
                let early = try await harness.claim(worker)
                #expect(early.isEmpty)
            }
            #expect(try await harness.claim(worker).count == 1)
        }
    }

    /// A suspect whose handler ran and handed the job back is a suspect no longer.
    @Test func aSuspectIsAcquittedByComingBack() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            try await harness.execute("update accountctl.jobs set crashes = 2")
            let worker = try await harness.host()
            let job = try await harness.pool.withConnection { connection in
                try harness.queue.claim(
                    JobHarness.plainLanes,
                    .init(worker: worker, limit: 1, suspects: true),
                    on: connection
                )
            }[0]
            _ = try await harness.write([
                FinishedJob(job: job, verdict: .giveBack(.init(givesAttemptBack: true)))
            ])
            #expect(try await harness.show(job.id)?.record.crashes == 0)
        }
    }
}
