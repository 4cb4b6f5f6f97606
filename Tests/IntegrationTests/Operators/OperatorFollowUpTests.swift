import AccountLifecycle
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("The next commands that an act names", .timeLimit(.minutes(5)))
struct OperatorFollowUpTests {
    @Test("A command that is named to undo an act or to go on can be typed as printed")
    func typed() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (one, other) = (OperatorStage.id(1), OperatorStage.id(2))
            // Each act, and a condition that holds after the command that it names has run.
            let acts: [(words: [String], after: String)] = [
                (["user", "suspend", one, "--reason", "spam", "--yes"], "select banned_until is null from auth.users"),
                (["user", "restore", one, "--yes"], "select banned_until is not null from auth.users"),
                (["user", "hold", other, "--reason", "court"], "select count(user_id) = 0 from accountctl.holds"),
                (["user", "release", other], "select count(user_id) = 1 from accountctl.holds"),
                (
                    ["deletion", "request", one, "--confirm=\(one)"],
                    "select state = 'cancelled' from accountctl.deletion_requests"
                ),
                (["deletion", "cancel", one], "select count(*) = 3 from accountctl.deletion_requests"),
                (["deletion", "pause", one], "select bool_and(paused_at is null) from accountctl.deletion_requests"),
                (["deletion", "pause", "--all"], "select paused_at is null from accountctl.deletion_brakes"),
            ]
            for (words, after) in acts {
                // So that there is something to undo.
                if words.starts(with: ["user", "restore"]) {
                    #expect(try await stage.run(["user", "suspend", one, "--reason", "spam", "--yes"]).status == 0)
                }
                if words.starts(with: ["user", "release"]) {
                    #expect(try await stage.run(["user", "hold", other, "--reason", "other court"]).status == 0)
                }
                if words.starts(with: ["deletion", "cancel"]) { try await stage.request(one) }
                let done = try await stage.run(words)
                #expect(done.status == 0, "\(words): \(done.errors)")
                let told = try #require(done.errors.firstMatch(of: /with: accountctl (.+)/), "\(words): \(done.errors)")
                var typed = told.1.replacing("WHY", with: "mistake").split(separator: " ").map(String.init)
                if typed.starts(with: ["deletion", "request"]) { typed.append("--confirm=\(one)") }
                if typed.starts(with: ["user", "suspend"]) { typed.append("--yes") }
                if typed.starts(with: ["deletion", "resume", "--all"]) { typed.append("--confirm=all") }
                let next = try await stage.run(typed)
                #expect(next.status == 0, "\(typed): \(next.errors)")
                let filter = words[0] == "user" && after.contains("auth.users") ? " where id = '\(one)'" : ""
                #expect(try await stage.database.psql(after + filter) == "t", "\(words), then \(typed)")
            }
        }
    }

    @Test("A command that a message names acts on the environment of the command that printed the message")
    func elsewhere() throws {
        var global = GlobalOptions()
        func completed(_ text: String, isProduction: Bool = false) -> String {
            FollowUp(global) { isProduction }.completed(text)
        }
        global.setDefaults()
        let text = "resume with: accountctl deletion resume --all; this is accountctl 0.1.0"
        #expect(completed(text) == text)
        global.environment = "staging"
        global.config = "my settings.toml"
        #expect(
            completed(text)
                == "resume with: accountctl --environment staging --config 'my settings.toml' deletion resume --all; "
                + "this is accountctl 0.1.0"
        )
        // To a shell, a quote with a combining accent is still a quote.
        global.config = "it'\u{301}s.toml"
        #expect(completed(text).utf8.contains("--config 'it'\\''\u{301}s.toml' ".utf8))
        global.databaseURL = "postgres://postgres:secret@db.example.com/postgres"
        #expect(!completed(text).contains("secret"))
        // A command in the reason of a pause is left as somebody wrote it.
        let paused = StandingBrakes.words(ofQueue: "apple", "see accountctl jobs list")
        let start = "the queue apple is paused: see accountctl jobs list; resume with: accountctl "
        #expect(completed(paused).hasPrefix(start + "--environment staging "))
        global.setDefaults()
        #expect(completed(paused) == start + "jobs resume apple")
        // A command that can be undone does not take the option.
        let both = "accountctl deletion resume --all, accountctl deletion pause A"
        #expect(
            completed(both, isProduction: true)
                == "accountctl deletion resume --production --all, accountctl deletion pause A"
        )
    }

    @Test("The command that ends a state can be typed as printed, with the options that chose the environment")
    func endings() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let request = try await stage.request(id)
            #expect(try await stage.run(["deletion", "pause", id]).status == 0)
            let config = stage.path("accountctl.conf")
            try "[environments.staging.deletion]\ngrace = 1m\n".write(toFile: config, atomically: true, encoding: .utf8)
            let place = ["--environment", "staging", "--config", config]
            let typed = "accountctl \(place.joined(separator: " ")) deletion resume \(request)"
            for command in [["show", id], ["list"]] {
                let shown = try await stage.run(["deletion"] + command + place + ["--json", "ended_by"])
                #expect(shown.output.contains("\"\(typed)\""), "\(shown)")
            }
            // A table shortens the command, since its row has the id.
            let table = try await stage.run(["deletion", "list"] + place)
            #expect(table.output.contains("deletion resume") && !table.output.contains("accountctl"), "\(table)")
            let inProduction = try await AccountctlProcess(
                ["deletion", "show", id, "--json", "ended_by"],
                environment: stage.variables.merging(["ACCOUNTCTL_PRODUCTION": "yes"]) { $1 }
            ).result()
            #expect(inProduction.output.contains("deletion resume --production \(request)"), "\(inProduction)")
            let words = typed.split(separator: " ").dropFirst().map(String.init)
            #expect(try await stage.run(words).status == 0)
        }
    }

    @Test("A refusal says what prevents the act, and what to do")
    func refusals() throws {
        let id = try #require(UUID(uuidString: OperatorStage.id(1)))
        let words = DeletionRefusal.underWay(step: .deleteRows, request: id).words
        #expect(words.hasPrefix("the step delete_rows is under way"), "\(words)")
        #expect(words.hasSuffix("accountctl deletion show \(OperatorStage.id(1))"), "\(words)")
        #expect(DeletionRefusal.begun(step: .revokeApple).words.hasPrefix("the step revoke_apple has begun"))
        #expect(DeletionRefusal.busy.words.contains("try again"))
    }

    @Test("An act names the command that undoes it or goes on, but only if something was done")
    func next() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let acts = [
                (["user", "suspend", id, "--reason", "spam", "--yes"], "accountctl user restore \(id)"),
                (["user", "restore", id], "accountctl user suspend \(id) --until 20"),
                (["user", "hold", id, "--reason", "court"], "accountctl user release \(id)"),
                (["user", "release", id], "accountctl user hold \(id) --reason"),
            ]
            for (words, next) in acts {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 0 && !rehearsed.errors.contains(next), "\(words): \(rehearsed)")
                let done = try await stage.run(words)
                #expect(done.status == 0 && done.errors.contains(next), "\(words): \(done)")
                #expect(!done.output.contains("accountctl"))
            }
            let nothing = try await stage.run(["user", "restore", id])
            #expect(nothing.errors.contains("Nothing to do") && !nothing.errors.contains("suspend"), "\(nothing)")
            let request = try await stage.request(id)
            for (word, next) in [("pause", "deletion resume \(request)"), ("cancel", "deletion request \(id)")] {
                let done = try await stage.run(["deletion", word, request])
                #expect(done.status == 0 && done.errors.contains("accountctl " + next), "\(done)")
            }
            let again = try await stage.run(["deletion", "request", request, "--confirm=\(id)"])
            #expect(again.status == 0, "\(again)")
        }
    }

    @Test("A command that undoes an act names the one hold of several, or the end of the suspension before")
    func undoNames() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            func undo(_ told: AccountctlProcess.Result) async throws {
                let hint = try #require(told.errors.firstMatch(of: /undo with: accountctl (.+)/), "\(told)")
                let words = hint.1.replacing("WHY", with: "mistake").split(separator: " ").map(String.init)
                let undone = try await stage.run(words + (words[1] == "suspend" ? ["--yes"] : []))
                #expect(undone.status == 0, "\(words): \(undone)")
            }
            #expect(try await stage.run(["user", "hold", id, "--reason", "court"]).status == 0)
            try await undo(try await stage.run(["user", "hold", id, "--reason", "tax"]))
            let holds = "select string_agg(reason, ' ') from accountctl.holds where user_id is not null"
            #expect(try await stage.database.psql(holds) == "court")

            let end = "2061-02-03T04:05:06Z"
            let suspend = ["user", "suspend", id, "--reason", "spam", "--yes"]
            #expect(try await stage.run(suspend + ["--until", end]).status == 0)
            try await undo(try await stage.run(["user", "restore", id]))
            let ban = "select banned_until = '\(end)' from auth.users"
            #expect(try await stage.database.psql(ban) == "t")
            // Undoing a suspension that replaced another one, by a later or a sooner end, restores that one.
            for more in [["--for", "36000d"], ["--for", "1d", "--shorten"]] {
                try await undo(try await stage.run(suspend + more))
                #expect(try await stage.database.psql(ban) == "t", "\(more)")
            }
            // For a ban without an end that Supabase could write, the command names none.
            try await stage.database.psql("update auth.users set banned_until = 'infinity'")
            #expect(try await !stage.run(["user", "restore", id]).errors.contains("--until"))
            for (more, said) in [
                (["--until", "2001-01-01"], "is in the past"), (["--until", "9998-01-01"], "36500d"),
                (["--until", "30d"], "--until"), (["--until", end, "--for", "1d"], "cannot be combined"),
            ] {
                let refused = try await stage.run(suspend + more)
                #expect(refused.status == 2 && refused.errors.contains(said), "\(more): \(refused)")
            }
        }
    }
}
