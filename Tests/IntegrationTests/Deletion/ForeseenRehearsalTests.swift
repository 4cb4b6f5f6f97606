import Foundation
import TestSupport
import Testing

@Suite("Dry runs of rehearsals", .timeLimit(.minutes(5)))
struct ForeseenRehearsalTests {
    @Test("A dry run of a rehearsal has the exit code and the facts of the rehearsal")
    func rehearsalsAsForeseen() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            func id(_ name: String) async throws -> String {
                try await site.database.psql("select id from auth.users where email = '\(name)@example.com'")
            }
            let (waits, keyed, kept, filed) = try await (id("stays1"), id("stays2"), id("stays3"), id("stays4"))
            let begun = try await id("stays5")
            #expect(try await site.deletion(["request", waits, "--confirm=\(waits)"]).status == 0)
            try await site.database.psql(
                """
                create table public.orders (id int primary key, buyer uuid references auth.users);
                insert into public.orders values (1, '\(keyed)');
                create function public.keep() returns trigger language plpgsql as $$
                begin
                    if old.id = '\(kept)' then raise exception 'kept'; end if;
                    return old;
                end $$;
                grant execute on function public.keep() to public;
                create trigger keep before delete on public.profiles for each row execute function public.keep();
                insert into storage.buckets (id, name) values ('scans', 'scans');
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('scans', '\(filed)/id.png', '\(filed)', '\(filed)');
                insert into accountctl.deletion_requests (
                    user_id, origin, state, run_after, legal_deadline, locked_out_at, paused_at
                )
                values ('\(begun)', 'app', 'running', now(), now() + interval '1 month', now(), now())
                """
            )
            let before = try await site.everything()
            let cases: [(account: String, status: Int32, state: String, situation: String?, said: String)] = [
                (waits, 0, "grace", nil, "would wait: the grace period of"),
                (keyed, 6, "blocked", "blocking_rows", "stop before its first step"),
                (kept, 6, "blocked", "refusing_trigger", "stop before its first step"),
                (filed, 6, "blocked", "undecided_bucket", "stop before its first step"),
                (begun, 6, "held", "paused", "stop before its next step"),
            ]
            func facts(_ result: AccountctlProcess.Result) -> [String] {
                let facts = /"(?:state|situation|subject)": (.+?),?\n/
                return result.output.matches(of: facts).map { String($0.1) }
            }
            var foreseen: [[String]] = []
            for (account, status, state, situation, said) in cases {
                let look = try await site.deletion(["rehearse", account, "--dry-run", "--json"])
                #expect(look.status == status && look.errors.contains(said), "\(look)")
                #expect(look.output.contains(#""state": "\#(state)""#), "\(look)")
                #expect(look.output.contains(#""situation": \#(situation.map { #""\#($0)""# } ?? "null")"#), "\(look)")
                #expect(look.output.contains(#""id": null"#) == ![waits, begun].contains(account), "\(look)")
                foreseen.append(facts(look))
            }
            #expect(try await site.everything() == before)
            for (number, expected) in cases.enumerated() {
                let words = ["rehearse", expected.account, "--confirm=\(expected.account)", "--no-input", "--json"]
                let done = try await site.deletion(words)
                #expect(done.status == expected.status, "\(done)")
                #expect(facts(done) == foreseen[number] && !foreseen[number].isEmpty, "\(done)")
                // As in the dry run, no job state is shown: a worker that was woken may hold the job for a moment.
                #expect(!done.output.contains(#""job_state": ""#), "\(done)")
            }
            let left = "select count(*) from auth.users where email like 'stays%'"
            #expect(try await site.database.psql(left) == "5")
        }
    }
}
