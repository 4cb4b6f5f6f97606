import Foundation
import TestSupport
import Testing

@Suite("Dry runs and prompts tell the truth", .timeLimit(.minutes(5)))
struct BeforeActTests {
    @Test("A dry run of a refused act is refused with the same exit code")
    func dryRuns() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (going, gone) = (OperatorStage.id(1), UUID().uuidString.lowercased())
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(going)', 'app', 'running', now(), now() + interval '1 month', now());
                insert into accountctl.deletion_requests (id, user_id, origin, state, run_after, legal_deadline, finished_at)
                values ('\(gone)', '\(OperatorStage.id(2))', 'app', 'cancelled', now(), now() + interval '1 month', now());
                """
            )
            for words in [
                ["deletion", "retry", gone], ["user", "suspend", going, "--reason", "spam"],
                ["user", "sign-out", going],
            ] {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 6, "\(words): \(rehearsed.errors)")
                #expect(try await stage.run(words + (words[1] == "suspend" ? ["--yes"] : [])).status == 6, "\(words)")
            }
            let other = OperatorStage.id(2)
            let fine = try await stage.run(["user", "suspend", other, "--reason", "spam", "--dry-run"])
            #expect(fine.status == 0 && fine.errors.contains("Would be done"), "\(fine.errors)")
            let idle = try await stage.run(["user", "restore", other, "--dry-run"])
            #expect(idle.errors.contains("Nothing to do"), "\(idle.errors)")
            let banned = "select count(*) from auth.users where banned_until is not null"
            #expect(try await stage.database.psql(banned) == "0")
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    @Test("A prompt names the account as user find does: masked, with its state")
    func questions() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (id, gone) = (OperatorStage.id(1), OperatorStage.id(2))
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                select user_id::uuid, 'app', 'residue', now(), now() + interval '1 month', now()
                from unnest(array['\(id)', '\(gone)']) as user_id;
                insert into accountctl.holds (user_id, reason, placed_by) values ('\(id)', 'court', 'olga');
                delete from auth.users where id = '\(gone)';
                """
            )
            let whole = "(u***@e***.com, deletion_residue)"
            for (words, named) in [
                (["user", "release", id], "\(id) \(whole)"), (["deletion", "request", id], "\(id) \(whole)"),
                (["deletion", "proceed", id, "--without-apple"], whole),
                (["deletion", "proceed", gone, "--without-apple"], "(account gone, residue)"),
                (["user", "release", id, "--dry-run"], whole),
            ] {
                let asked = try await stage.run(words)
                #expect(asked.errors.contains(named), "\(words): \(asked)")
                #expect(!asked.errors.contains("u1@example.com"))
            }
            let typed = try await TerminalSession.run(
                ["user", "suspend", id, "--reason", "spam"],
                environment: stage.variables.merging(["NO_COLOR": "1"]) { $1 },
                typing: "n\n"
            )
            #expect(typed.screen.contains("Suspend \(id) \(whole) until "), "\(typed)")
        }
    }

    @Test("A dry run fires no trigger that may act outside the database, and names the triggers that it did not try")
    func triggersOutside() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (id, leaving) = (OperatorStage.id(1), OperatorStage.id(2))
            let database = stage.database
            // A rollback does not undo the increment of a sequence, just as it does not undo a call to another system.
            try await database.psql(
                """
                create extension if not exists dblink schema extensions;
                create sequence public.calls minvalue 0 start 0;
                grant usage on sequence public.calls to public;
                create function public.tell() returns trigger language plpgsql security definer as $$
                begin
                    if false then perform extensions.dblink_exec('', ''); end if;
                    perform nextval('public.calls');
                    return coalesce(new, old);
                end $$;
                create trigger tell_update after update on auth.users for each row execute function public.tell();
                create trigger tell_delete after delete on auth.sessions for each row execute function public.tell();
                insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(id)');
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(leaving)', 'app', 'running', now(), now() + interval '1 month', now());
                update auth.users as u set banned_until = r.locked_out_at + interval '87660 hours'
                from accountctl.deletion_requests as r where r.user_id = u.id;
                alter sequence public.calls restart;
                """
            )
            let acts: [(words: [String], trigger: String)] = [
                (["user", "sign-out", id], "tell_delete"),
                (["user", "suspend", id, "--reason", "spam", "--yes"], "tell_update"),
                (["user", "restore", id], "tell_update"), (["deletion", "cancel", leaving], "tell_update"),
            ]
            var calls = 0
            @Sendable func called() async throws -> Int {
                let count = "select case when is_called then last_value + 1 else last_value end from public.calls"
                return Int(try await database.psql(count)) ?? -1
            }
            for (words, trigger) in acts {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 0 && rehearsed.errors.lowercased().contains("would be"), "\(rehearsed)")
                #expect(rehearsed.errors.contains(trigger) && rehearsed.errors.contains("not tried,"), "\(rehearsed)")
                #expect(try await called() == calls, "\(words)")
                let done = try await stage.run(words)
                #expect(done.status == 0 && !done.errors.contains("not tried, so"), "\(done)")
                #expect(try await called() > calls, "\(words)")
                calls = try await called()
            }
            // Cancelling before the lock-out writes nothing to Supabase's tables.
            try await stage.request(id)
            let early = try await stage.run(["deletion", "cancel", id, "--dry-run"])
            #expect(early.status == 0 && !early.errors.contains("not tried, so"), "\(early)")
            // An act that changes nothing is reported without trying the triggers.
            let idle = try await stage.run(["user", "restore", id, "--dry-run"])
            #expect(idle.status == 0 && idle.errors.contains("Nothing to do"), "\(idle)")
            let gone = try await stage.run(["deletion", "cancel", leaving, "--dry-run"])
            #expect(gone.status == 0 && gone.errors.contains("Nothing to do"), "\(gone)")
            #expect(try await called() == calls)
        }
    }
}
