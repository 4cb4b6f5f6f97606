import Foundation
import TestSupport
import Testing

/// The commands report pauses of single requests, of the queue and of all deletions.
@Suite("Paused deletions", .timeLimit(.minutes(5)))
struct DeletionPauseTests {
    @Test("Requests that are paused individually are listed as paused")
    func paused() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            #expect(try await site.deletion(["request", account, "--confirm=\(account)"]).status == 0)
            let none = try await site.deletion(["list", "--paused"])
            #expect(none.status == 0 && none.errors == "No such deletion requests.\n", "\(none)")
            #expect(try await site.deletion(["pause", account]).status == 0)
            let shown = try await site.deletion(["list", "--paused", "--tsv", "state,paused"])
            #expect(shown.output == "grace\ttrue\n", "\(shown)")
            let all = try await site.deletion(["list", "--csv", "id,paused"])
            #expect(all.output.hasPrefix("id,paused\n") && all.output.contains("\(request),false\n"), "\(all)")
            let json = try await site.deletion(["list", "--state", "grace", "--json"])
            #expect(json.output.contains(#""paused":true"#), "\(json)")
            let table = try await site.deletion(["list"])
            #expect(table.output.contains("PAUSED"), "\(table)")
        }
    }

    @Test("A pause of the queue or of all deletions is shown with the request, with the account and with the list")
    func pausedWhole() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            let looks = [
                ["deletion", "show", id, "--tsv", "paused"], ["user", "show", id, "--tsv", "paused"],
            ]
            let words = [["deletion", "show", id], ["user", "show", id], ["deletion", "list"]]
            for (stop, release) in [
                (["jobs", "pause", "deletions", "--yes"], ["jobs", "resume", "deletions"]),
                (["deletion", "pause", "--all"], ["deletion", "resume", "--all", "--confirm=all"]),
            ] {
                #expect(try await stage.run(stop + ["--reason", "incident 7"]).status == 0)
                for look in looks { #expect(try await stage.run(look).output == "true\n", "\(stop) \(look)") }
                for look in words {
                    let told = try await stage.run(look)
                    #expect((told.output + told.errors).contains("incident 7"), "\(stop) \(look): \(told)")
                }
                #expect(try await stage.run(release).status == 0)
                for look in looks { #expect(try await stage.run(look).output != "true\n", "\(release) \(look)") }
                for look in words {
                    let told = try await stage.run(look)
                    #expect(!(told.output + told.errors).contains("incident 7"), "\(release) \(look): \(told)")
                }
            }
        }
    }

    @Test("A pause of all deletions that somebody makes while a resume asks about an earlier one stays")
    func pausedAgain() async throws {
        try await OperatorStage.with { stage in
            let pause = ["deletion", "pause", "--all", "--reason"]
            #expect(try await stage.run(pause + ["maintenance"]).status == 0)
            let words = ["deletion", "resume", "--all", "--json"]
            let resume = try await TerminalSession.live(words, environment: stage.variables) { person in
                #expect(try await person.waits(for: "Type all"), "\(person.screen)")
                #expect(try await stage.run(pause + ["the wrong list"]).status == 0)
                try person.type("all\n")
            }
            #expect(resume.status == 6 && resume.screen.contains("paused_again"), "\(resume)")
            let left = "select paused_reason from accountctl.deletion_brakes where paused_at is not null"
            #expect(try await stage.database.psql(left) == "the wrong list")
            let resumed = "select count(*) from accountctl.operator_log where action = 'deletion.resume_all'"
            #expect(try await stage.database.psql(resumed) == "0")
            #expect(try await stage.run(words + ["--confirm=all"]).status == 0)
            #expect(try await stage.database.psql(left) == "")
            #expect(try await stage.database.psql(resumed) == "1")
        }
    }

    @Test("A pause that is released and made again in the same words while a resume asks about the first one stays")
    func pausedAgainInTheSameWords() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let request = try await stage.request(OperatorStage.id(1))
            try await stage.database.psql("update accountctl.deletion_requests set run_after = now()")
            for (target, id, table) in [
                ("--all", "all", "deletion_brakes"), (request, request, "deletion_requests"),
            ] {
                let pause = ["deletion", "pause", target]
                let words = ["deletion", "resume", target]
                #expect(try await stage.run(pause).status == 0)
                let resume = try await TerminalSession.live(words, environment: stage.variables) { person in
                    #expect(try await person.waits(for: "Type \(id)"), "\(person.screen)")
                    #expect(try await stage.run(words + ["--confirm=\(id)"]).status == 0)
                    #expect(try await stage.run(pause).status == 0)
                    try person.type(id + "\n")
                }
                #expect(resume.status == 6, "\(resume)")
                let paused = "select count(*) from accountctl.\(table) where paused_at is not null"
                #expect(try await stage.database.psql(paused) == "1")
                #expect(try await stage.run(words + ["--confirm=\(id)"]).status == 0)
            }
        }
    }

    @Test("A pause of one deletion that somebody makes while a resume asks about an earlier one stays")
    func onePausedAgain() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let request = try await stage.request(OperatorStage.id(1))
            try await stage.database.psql("update accountctl.deletion_requests set run_after = now()")
            let pause = ["deletion", "pause", request, "--reason"]
            #expect(try await stage.run(pause + ["maintenance"]).status == 0)
            let words = ["deletion", "resume", request]
            let resume = try await TerminalSession.live(words + ["--json"], environment: stage.variables) { person in
                #expect(try await person.waits(for: "Type \(request)"), "\(person.screen)")
                #expect(try await stage.run(pause + ["the wrong list"]).status == 0)
                try person.type(request + "\n")
            }
            // Not busy, which passes: whoever then tries again would release the other pause.
            #expect(resume.status == 6 && resume.screen.contains("paused_again"), "\(resume)")
            #expect(resume.screen.contains("it stays paused"), "\(resume)")
            let paused = "select count(*) from accountctl.deletion_requests where paused_at is not null"
            #expect(try await stage.database.psql(paused) == "1")
            #expect(try await stage.run(words + ["--confirm=\(request)"]).status == 0)
            #expect(try await stage.database.psql(paused) == "0")
        }
    }
    @Test("A resume of one deletion that somebody else resumes while it asks has nothing to do")
    func oneResumedByAnother() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let request = try await stage.request(OperatorStage.id(1))
            try await stage.database.psql("update accountctl.deletion_requests set run_after = now()")
            #expect(try await stage.run(["deletion", "pause", request, "--reason", "maintenance"]).status == 0)
            let words = ["deletion", "resume", request]
            let resume = try await TerminalSession.live(words, environment: stage.variables) { person in
                #expect(try await person.waits(for: "Type \(request)"), "\(person.screen)")
                #expect(try await stage.run(words + ["--confirm=\(request)"]).status == 0)
                try person.type(request + "\n")
            }
            #expect(resume.status == 0 && resume.screen.contains("Nothing to do."), "\(resume)")
        }
    }
}
