import Foundation
import TestSupport
import Testing

@Suite("Rehearsals at a terminal", .timeLimit(.minutes(5)))
struct WatchedRehearsalTests {
    @Test("A preflight that expires while the operator looks is repeated without another prompt")
    func rehearsalLookedAtForLong() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
            let result = try await TerminalSession.live(words, environment: site.variables) { person in
                #expect(try await person.waits(for: "Press Enter to continue"), "\(person.screen)")
                try await site.database.psql(
                    """
                    update accountctl.deletion_steps
                    set started_at = started_at - interval '2 minutes', finished_at = finished_at - interval '2 minutes'
                    """
                )
                try person.type("\n")
                #expect(try await person.waits(for: "preflight: repeated"), "\(person.screen)")
                #expect(try await person.waits(for: "lock_out: "), "\(person.screen)")
                try person.type("\u{3}")
                #expect(try await person.waits(for: "the rehearsal was stopped"), "\(person.screen)")
            }
            #expect(result.status == 130, "\(result.screen)")
            let asked = result.screen.components(separatedBy: "preflight: nothing was touched").count - 1
            #expect(asked == 1, "\(result.screen)")
            let steps = "select string_agg(step || runs, ' ' order by started_at) from accountctl.deletion_steps"
            #expect(try await site.database.psql(steps) == "preflight2 lock_out1")
        }
    }

    @Test("A rehearsal whose job is cancelled ends without a key press and takes no further step")
    func rehearsalCancelled() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
            let result = try await TerminalSession.live(words, environment: site.variables) { person in
                #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                let job = try await site.database.psql("select id from accountctl.jobs where kind = 'account.delete'")
                let told = try await AccountctlProcess(["jobs", "cancel", job, "--yes"], environment: site.variables)
                    .result()
                #expect(told.status == 0 && told.output.contains("told to stop"), "\(told)")
                #expect(try await person.waits(for: "which ends the rehearsal"), "\(person.screen)")
            }
            #expect(result.status == 6, "\(result.screen)")
            let steps = "select string_agg(step, ' ') from accountctl.deletion_steps where runs > 0"
            #expect(try await site.database.psql(steps) == "preflight")
        }
    }

    @Test("A rehearsal that a signal stops hands its job back at once and does not count as a crash")
    func rehearsalStopped() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            for (name, number) in [("stays1", SIGINT), ("stays2", SIGHUP), ("stays3", SIGTERM)] {
                let account = try await site.database.psql(
                    "select id from auth.users where email = '\(name)@example.com'"
                )
                let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
                let result = try await TerminalSession.live(words, environment: site.variables) { person in
                    #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                    let id = try await site.database.psql(
                        """
                        select substring(name from '[0-9]+$')
                        from accountctl.workers
                        where name like 'rehearsal by %'
                        and stopped_at is null
                        """
                    )
                    if number == SIGINT {
                        try person.type("\u{3}")
                    } else {
                        kill(try #require(Int32(id)), number)
                    }
                    #expect(try await person.waits(for: "the rehearsal was stopped"), "\(person.screen)")
                }
                #expect(result.status == 130, "\(result.screen)")
            }
            let jobs = """
                select string_agg(state::text || crashes, ' ')
                from accountctl.jobs
                where kind = 'account.delete'
                """
            #expect(try await site.database.psql(jobs) == "available0 available0 available0")
            let steps = "select string_agg(distinct step, ' ') from accountctl.deletion_steps where runs > 0"
            #expect(try await site.database.psql(steps) == "preflight")
        }
    }
}
