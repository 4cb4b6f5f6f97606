import Foundation
import TestSupport
import Testing

@Suite("Replaying a list of erasures into a database that has changed since", .timeLimit(.minutes(5)))
struct ErasureListMeetsTests {
    @Test("A replay leaves requests alone that were decided since, and another account with the same id")
    func decided() async throws {
        try await OperatorStage.with(accounts: 4) { stage in
            let database = stage.database
            let backup = try await TableBackup(of: database)
            for number in 1...3 { try await stage.request(OperatorStage.id(number)) }
            let request = try await database.psql(
                "select id from accountctl.deletion_requests where user_id = '\(OperatorStage.id(2))'"
            )
            let path = try stage.write(try await stage.run(["deletion", "export"]).output, to: "list")
            try await backup.restore(to: database)
            try await database.psql(
                "update auth.users set created_at = now() + interval '1 second' where id = '\(OperatorStage.id(3))'"
            )
            let command = ["deletion", "replay", path, "--json"]
            let done = try await stage.run(command + ["--confirm=2"])
            #expect(done.status == 0, "\(done.errors)")
            try PrintedFacts.expect(["reopen": 2, "others": 1, "open": 0], in: done.output)
            let cancel = try await stage.run(["deletion", "cancel", OperatorStage.id(1)])
            #expect(cancel.status == 0, "\(cancel.errors)")
            let again = try await stage.run(command)
            try PrintedFacts.expect(["outcome": "unchanged", "open": 1, "decided": 1, "others": 1], in: again.output)
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "2")
            try await backup.restore(to: database)
            // Every list has all open requests: a request of an older list that a newer one lacks is no longer open.
            let (older, newer) = (
                try String(contentsOfFile: path, encoding: .utf8), try await stage.run(["deletion", "export"]).output
            )
            for (text, reopen) in [
                (older + newer, 0), (newer + older, 0), (older + newer.prefix { $0 != "\n" }, 3),
            ] {
                let dry = try await stage.run(
                    ["deletion", "replay", "-", "--unsealed", "--dry-run", "--json"],
                    input: text
                )
                try PrintedFacts.expect(["reopen": reopen], in: dry.output)
            }
            // If the list is older than the backup, the database has the later state of the request.
            try await database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, user_id, origin, state, run_after, legal_deadline, finished_at
                )
                values ('\(request)', '\(OperatorStage.id(2))', 'app', 'cancelled', now(), now() + interval '1 day', now())
                """
            )
            let known = try await stage.run(command + ["--dry-run"])
            try PrintedFacts.expect(["reopen": 2, "decided": 1], in: known.output)
        }
    }

    @Test(
        "A request whose legal hold was lost is paused, and one made again after a cancellation is reopened"
    )
    func heldAndAskedAgain() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            let (held, again) = (OperatorStage.id(1), OperatorStage.id(2))
            func run(_ words: [String]) async throws {
                let result = try await stage.run(words)
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            try await run(["deletion", "request", again, "--confirm=\(again)"])
            let backup = try await TableBackup(of: database)
            try await run(["deletion", "request", held, "--confirm=\(held)", "--grace", "0"])
            try await run(["user", "hold", held, "--reason", "court order"])
            try await run(["deletion", "cancel", again])
            try await run(["deletion", "request", again, "--confirm=\(again)", "--grace", "777600s"])
            let list = try await stage.run(["deletion", "export"]).output
            let path = try stage.write(list, to: "list")
            try await backup.restore(to: database)
            // A list exported after the restore lacks the cancellation.
            let restored = try await stage.run(["deletion", "export"]).output
            for text in [list + restored, restored + list] {
                let late = try await stage.run(["deletion", "replay", "-", "--confirm=3"], input: text)
                #expect(late.status == 2 && late.errors.contains("it was written after the restore"), "\(late)")
            }
            let done = try await stage.run(["deletion", "replay", path, "--json", "--confirm=3"])
            #expect(done.status == 0, "\(done.errors)")
            try PrintedFacts.expect(["reopen": 2, "cancel": 1], in: done.output)
            #expect(done.errors.contains("1 request that somebody had stopped is paused"), "\(done.errors)")
            let states = """
                select state, paused_at is not null, run_after > now() + interval '8 days'
                from accountctl.deletion_requests
                order by user_id, requested_at
                """
            #expect(try await database.psql(states) == "grace|t|f\ncancelled|f|f\ngrace|f|t")
            try PrintedFacts.expect(
                ["outcome": "unchanged", "open": 2],
                in: try await stage.run(["deletion", "replay", path, "--json"]).output
            )
        }
    }

    @Test("A replay reports what it cannot repeat: cancelling a deletion that has begun, an erasure that is now paused")
    func told() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            for number in 1...2 { try await stage.request(OperatorStage.id(number)) }
            _ = try await stage.run(["deletion", "pause", OperatorStage.id(2)])
            let backup = try await TableBackup(of: database)
            _ = try await stage.run(["deletion", "cancel", OperatorStage.id(1)])
            // As if the paused deletion had been resumed and carried out after the backup.
            let list = try await stage.run(["deletion", "export"]).output.split(separator: "\n").map { line -> String in
                // Lists of older releases have no seal.
                if line.hasPrefix(#"{"end""#) { return #"{"end":2}"# }
                guard line.contains(#""state":"grace""#) else { return String(line) }
                return String(line).replacing(#""state":"grace""#, with: #""state":"verified""#)
                    .replacing(#""finished_at":null"#, with: #""finished_at":"2026-11-20T12:00:00Z""#)
            }
            let path = try stage.write(list.joined(separator: "\n"), to: "list")
            try await backup.restore(to: database)
            try await database.psql(
                """
                with begun as (
                    update accountctl.deletion_requests
                    set state = 'running', locked_out_at = now()
                    where user_id = '\(OperatorStage.id(1))'
                    returning id
                )
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                select id, 'delete_avatars', 1, now()
                from begun
                """
            )
            let result = try await stage.run(["deletion", "replay", path, "--unsealed", "--confirm=1", "--json"])
            #expect(result.status == 6, "\(result.errors)")
            #expect(
                result.errors.contains("the step delete_avatars has begun, which cannot be undone"),
                "\(result.errors)"
            )
            #expect(result.errors.contains("1 account that was erased before waits here"), "\(result.errors)")
            try PrintedFacts.expect(
                ["cancel": 0, "refused": 1, "open": 1, "stuck": 1, "outcome": "refused"],
                in: result.output
            )
        }
    }

    @Test("A list changed since its export is refused; one without a seal is accepted only with --unsealed")
    func changed() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let backup = try await TableBackup(of: stage.database)
            for number in 1...2 {
                let id = OperatorStage.id(number)
                try await stage.request(id)
                try await AccountctlProcess.must(["deletion", "cancel", id], stage.variables)
            }
            let list = try await stage.run(["deletion", "export"]).output
            try await backup.restore(to: stage.database)
            func replay(_ text: String, _ words: [String] = []) async throws -> AccountctlProcess.Result {
                try await stage.run(["deletion", "replay", "-", "--dry-run", "--json"] + words, input: text)
            }
            let lines = list.split(separator: "\n").map(String.init)
            // Both people cancelled and kept their accounts.
            let forged = lines.map { $0.replacing(#""state":"cancelled""#, with: #""state":"verified""#) }
            let shorter = [lines[0], lines[1], lines[3]]
            for text in [forged, shorter] {
                let refused = try await replay(text.joined(separator: "\n"))
                #expect(refused.status == 5 && refused.errors.contains("its seal does not match"), "\(refused)")
                #expect(refused.output.isEmpty)
            }
            let unsealed = (forged.dropLast() + [#"{"end":2}"#]).joined(separator: "\n")
            // The header names another hash key, so the seal cannot be checked; the lines are hashed with this key.
            let ofAnother = forged.enumerated().map { number, line in
                number == 0 ? line.replacing(#""hash_key":"hash""#, with: #""hash_key":"hash-0""#) : line
            }.joined(separator: "\n")
            for text in [unsealed, ofAnother] {
                let refused = try await replay(text)
                #expect(refused.status == 5 && refused.errors.contains("--unsealed"), "\(refused)")
                #expect(refused.output.isEmpty)
                let taken = try await replay(text, ["--unsealed"])
                #expect(taken.status == 0 && taken.errors.contains("has no seal"), "\(taken)")
                try PrintedFacts.expect(["erase": 2], in: taken.output)
            }
            // Some programs end lines with CR and LF, and begin files with a byte order mark.
            let marked = "\u{FEFF}" + list.replacing("\n", with: "\r\n")
            for text in [list, marked, list + list, marked + marked] {
                let whole = try await replay(text)
                #expect(whole.status == 0 && !whole.errors.contains("seal"), "\(whole)")
                try PrintedFacts.expect(["erase": 0, "listed": 2], in: whole.output)
            }
        }
    }

    @Test("A replay beside a live worker needs confirmation, unless all deletions are paused")
    func besideWorker() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let backup = try await TableBackup(of: stage.database)
            try await stage.request(id)
            let path = try stage.write(try await stage.run(["deletion", "export"]).output, to: "list")
            try await backup.restore(to: stage.database)
            try await stage.database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('here:1', '1', 4, '{deletions}', '{account.delete}', now() + interval '1 hour')
                """
            )
            let command = ["deletion", "replay", path, "--confirm=1"]
            let refused = try await stage.run(command)
            #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
            #expect(refused.errors.contains("deletions are not paused and a worker is alive"), "\(refused.errors)")
            #expect(try await stage.run(["deletion", "pause", "--all"]).status == 0)
            let done = try await stage.run(command)
            #expect(done.status == 0, "\(done.errors)")
            #expect(!done.errors.contains("a worker is alive"), "\(done.errors)")
            #expect(done.errors.contains("accountctl deletion resume --all"), "\(done.errors)")
            try await backup.restore(to: stage.database)
            #expect(try await stage.run(["deletion", "resume", "--all", "--confirm=all"]).status == 0)
            #expect(try await stage.run(command + ["--yes"]).status == 0)
        }
    }

    @Test("A lost pause is restored even under a legal hold, since the hold may end first")
    func pausedUnderHold() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            try await AccountctlProcess.must(["user", "hold", id, "--reason", "court order"], stage.variables)
            let backup = try await TableBackup(of: stage.database)
            try await AccountctlProcess.must(["deletion", "pause", id], stage.variables)
            let path = try stage.write(try await stage.run(["deletion", "export"]).output, to: "list")
            try await backup.restore(to: stage.database)
            let dry = try await stage.run(["deletion", "replay", path, "--dry-run", "--json"])
            try PrintedFacts.expect(["pause": 1], in: dry.output)
            #expect(dry.errors.contains("legal holds placed since the backup are lost"), "\(dry)")
        }
    }
}
