import AccountLifecycle
import JobQueue
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeletionJournalTests {
    private func records(_ stage: Stage) async throws -> String {
        try await stage.value(
            """
            select jsonb_build_object(
                'steps', (select jsonb_agg(to_jsonb(s) order by s.step) from accountctl.deletion_steps as s),
                'requests', (select jsonb_agg(to_jsonb(r)) from accountctl.deletion_requests as r)
            )::text
            """,
            as: String.self
        )
    }

    /// Before a step, during it and after it, a worker that has lost its job writes nothing more.
    @Test(arguments: [
        DeletionPoint.before(.preflight), .begun(.lockOut), .done(.scrubAuth), .before(.verify), .begun(.receipt),
    ])
    func nothingIsWrittenOnceTheJobIsSomebodyElses(_ point: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let fence = try await stage.claim("account.delete")
            let kept = Kept<String>()
            let driver = DeletionDriver(
                stage.services { reached in
                    guard reached == point else { return }
                    try await stage.sql("update accountctl.jobs set lease = lease + 1 where kind = 'account.delete'")
                    kept.keep(try await records(stage))
                }
            )
            let error = await #expect(throws: JobQueueError.self) { try await driver.drive(request, fence: fence) }
            #expect(error?.code == .leaseLost)
            #expect(kept.value != nil)
            #expect(try await records(stage) == kept.value)
            // The job's next owner ends the request.
            let next = try await stage.claim("account.delete")
            #expect(try await DeletionDriver(stage.services()).drive(request, fence: next) == .ended(.verified))
        }
    }

    /// Only the note that Apple is asked and the receipt wait for the disk: other records can be made again, or are
    /// flushed along with later ones.
    @Test func onlyThatAppleIsAskedAndTheReceiptWaitForTheDisk() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.flushes (step text, ended boolean, flush text)")
            try await stage.sql(
                """
                create function public.note_flush() returns trigger language plpgsql security definer as $$
                begin
                    insert into public.flushes
                    values (new.step, new.finished_at is not null, current_setting('synchronous_commit'));
                    return null;
                end
                $$
                """
            )
            try await stage.sql(
                """
                create trigger note_flush after insert or update on accountctl.deletion_steps
                for each row execute function public.note_flush()
                """
            )
            let request = try await stage.request(try await stage.fullAccount())
            #expect(try await stage.drive(request) == .ended(.verified))
            let begun = try await stage.value(
                "select string_agg(distinct step, ',') from public.flushes where not ended and flush <> 'off'",
                as: String?.self
            )
            #expect(begun == "revoke_apple")
            let effects = try await stage.value(
                """
                select string_agg(distinct step || ' ' || flush, ',' order by step || ' ' || flush)
                from public.flushes
                where ended and flush <> 'off'
                """,
                as: String?.self
            )
            #expect(effects == "receipt on")
            // The setting ends with its transaction.
            let now = try await stage.pool.withConnection { try $0.one("show synchronous_commit", as: String.self) }
            #expect(now == "on")
        }
    }

    /// A server that crashes must not lose the lock-out of an account whose grant Apple has already revoked.
    @Test func theLockOutIsOnDiskBeforeAppleIsAsked() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            let (written, isFlushed) = (Kept<String>(), Kept<String>())
            try await stage.drive(request) { point in
                if point == .after(.lockOut) {
                    written.keep(try await stage.value("select pg_current_wal_insert_lsn()::text", as: String.self))
                }
                if point == .middle(.revokeApple), let place = written.value {
                    let isThere = try await stage.value(
                        "select pg_current_wal_flush_lsn() >= \(place)::pg_lsn",
                        as: Bool.self
                    )
                    isFlushed.keep("\(isThere)")
                }
            }
            #expect(isFlushed.value == "true")
        }
    }
}
