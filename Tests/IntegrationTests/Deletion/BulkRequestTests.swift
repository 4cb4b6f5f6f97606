import AccountLifecycle
import Foundation
import Sealing
import TestSupport
import Testing

@Suite("Requesting the deletion of many accounts", .timeLimit(.minutes(5)))
struct BulkRequestTests {
    @Test("Every bad line is reported with its number, and nothing is done")
    func badLines() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            // An empty file with a byte order mark was joined with another.
            let text =
                "\u{FEFF}\u{FEFF}# list\n\(OperatorStage.id(1))\nanna@example.com\n\n{\(OperatorStage.id(2).uppercased())}\nx\u{1B}[2J' or 1=1\n"
            let result = try await stage.run(
                ["deletion", "request", "--file", "-", "--result", stage.path("r"), "--confirm=2"],
                input: text
            )
            #expect(result.status == 2)
            #expect(result.errors.contains("line 3: \"anna@example.com\" is not a user id"))
            #expect(result.errors.contains("line 6: \"x\\u{1b}[2J' or 1=1\" is not a user id"))
            #expect(!result.errors.contains("line 1:") && !result.errors.contains("line 5"))
            #expect(try await BulkRun.requests(database) == "0|0")
            #expect(!FileManager.default.fileExists(atPath: stage.path("r")))
            let printed = try await stage.run(["deletion", "request", "--file", "-", "--result", "-", "--dry-run"])
            #expect(printed.status == 2 && printed.errors.contains("--result"), "\(printed)")
            let away = try await stage.run(["deletion", "request", "--file", "/nowhere"])
            #expect(away.status == 2)
            #expect(away.errors.contains("cannot read /nowhere: No such file"))
        }
    }

    @Test("A dry run says what would happen, the count confirms the run, and a repeated run requests nothing twice")
    func planConfirmRepeat() async throws {
        try await OperatorStage.with(accounts: 5) { stage in
            let database = stage.database
            let path = try BulkRun.write([1, 2, 3, 2, 77].map(OperatorStage.id), stage)
            try await database.psql(
                """
                select accountctl.open_deletion_request('\(OperatorStage.id(1))', 'app');
                insert into accountctl.holds (user_id, reason, placed_by) values ('\(OperatorStage.id(2))', 'court', 'olga');
                """
            )
            let dry = try await stage.run(["deletion", "request", "--file", path, "--dry-run", "--json"])
            // The dry run has the exit code of the real run.
            #expect(dry.status == 3, "\(dry.errors)")
            for fact in [
                #""ids": 4"#, #""accounts": 3"#, #""found": 1"#, #""held": 1"#, #""unknown_user": 1"#,
                #""repeated": 1"#,
                #""confirm": "--confirm=4""#,
            ] { #expect(dry.output.contains(fact), "\(fact) in \(dry.output)") }
            let asked = try await stage.run(["deletion", "request", "--file", path])
            #expect(asked.status == 2)
            #expect(asked.errors.contains("--confirm=4"))
            let wrong = try await stage.run(["deletion", "request", "--file", path, "--confirm=3"])
            #expect(wrong.status == 2)
            #expect(try await BulkRun.requests(database) == "1|1")
            // Nothing was done, so there is no result file.
            #expect(!FileManager.default.fileExists(atPath: path + ".results.ndjson"))

            let command = ["deletion", "request", "--file", path, "--confirm=4", "--ticket", "T-1", "--json"]
            let first = try await stage.run(command)
            #expect(first.status == 3, "\(first.errors)")
            #expect(try BulkRun.outcomes(path + ".results.ndjson") == ["found": 1, "requested": 2, "unknown_user": 1])
            // Ids without an account are looked up again.
            let second = try await stage.run(command)
            #expect(second.status == 3)
            #expect(second.output.contains(#""done_before": 3"#))
            try await database.psql(
                "insert into auth.users (id, email) values ('\(OperatorStage.id(77))', 'late@example.com')"
            )
            let third = try await stage.run(command)
            #expect(third.status == 0)
            #expect(third.output.contains(#""requested": 1"#))
            #expect(try await BulkRun.requests(database) == "4|4")
            let log = "select count(*), min(ticket) from accountctl.operator_log where action = 'deletion.request'"
            #expect(try await database.psql(log) == "4|T-1")
            let mode = try FileManager.default.attributesOfItem(atPath: path + ".results.ndjson")[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test("The result file of one database is refused in another")
    func otherDatabase() async throws {
        try await OperatorStage.with { stage in
            let path = try BulkRun.write([1, 2].map(OperatorStage.id), stage)
            let command = ["deletion", "request", "--file", path, "--confirm=2"]
            // The first run is a rehearsal in another database, which has none of these accounts.
            #expect(try await stage.run(command).status == 3)
            try await TestDatabase.with(.migrated) { database in
                let production = OperatorStage(
                    database: database,
                    folder: stage.folder,
                    variables: stage.variables.merging(database.variables) { $1 }
                )
                try await production.addAccounts(2)
                for words in [command, ["deletion", "request", "--file", path, "--dry-run"]] {
                    let refused = try await production.run(words)
                    #expect(refused.status == 2, "\(refused.output)")
                    #expect(refused.errors.contains("results of another database"), "\(refused.errors)")
                }
                #expect(try await BulkRun.requests(database) == "0|0")
                #expect(try await production.run(command + ["--result", stage.path("other")]).status == 0)
                #expect(try await BulkRun.requests(database) == "2|2")
            }
        }
    }

    @Test(
        "Ids without an account are classified: an open erasure is found, a finished one is erased, others are unknown"
    )
    func gone() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let database = stage.database
            let (leaving, erased) = (OperatorStage.id(2), OperatorStage.id(3))
            let key = try HashKey(fileText: Secret(String(contentsOfFile: stage.path("hash.key"), encoding: .utf8)))
            let subject = SubjectHash(try #require(UUID(uuidString: erased)), key: key)
            try await database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(leaving)', 'app', 'residue', now(), now() + interval '1 month', now());
                insert into accountctl.deletion_requests (
                    subject_hash, subject_key_id, origin, state, run_after, legal_deadline, locked_out_at, finished_at
                )
                values ('\\x\(subject.hexadecimal)', 'hash', 'app', 'verified', now(), now() + interval '1 month', now(), now())
                """
            )
            let path = try BulkRun.write([OperatorStage.id(1), leaving, erased, OperatorStage.id(4)], stage)
            let command = ["deletion", "request", "--file", path]
            let dry = try await stage.run(command + ["--dry-run", "--json"])
            for fact in [#""accounts": 1"#, #""found": 1"#, #""erased": 1"#, #""unknown_user": 1"#] {
                #expect(dry.output.contains(fact), "\(fact) in \(dry.output)")
            }
            let asked = try await stage.run(command)
            #expect(
                asked.errors.contains(
                    "Delete 1 account for good? (4 ids in the list, 1 without an account, 1 requested already, 1 erased before)"
                ),
                "\(asked)"
            )
            let done = try await stage.run(command + ["--confirm=4", "--json"])
            #expect(done.status == 3, "\(done)")
            for fact in [#""requested": 1"#, #""found": 1"#, #""erased": 1"#, #""unknown_user": 1"#] {
                #expect(done.output.contains(fact), "\(fact) in \(done.output)")
            }
            #expect(
                try BulkRun.outcomes(path + ".results.ndjson")
                    == ["requested": 1, "found": 1, "erased": 1, "unknown_user": 1]
            )
            // Without an unknown id the exit code is 0: every erasure is done or in progress.
            let rest = try BulkRun.write([leaving, erased], stage)
            let known = ["deletion", "request", "--file", rest, "--confirm=2", "--result", stage.path("known")]
            #expect(try await stage.run(known).status == 0)
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "3")
        }
    }

    @Test("Words that identify an account of the list are refused at the start; other accounts may be named")
    func ownWords() async throws {
        try await OperatorStage.with(accounts: 4) { stage in
            let database = stage.database
            let path = try BulkRun.write([1, 2, 3].map(OperatorStage.id), stage)
            try await database.psql(
                """
                update auth.users set phone = '4512345678' where id = '\(OperatorStage.id(3))';
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values ('109876543210987654321', '\(OperatorStage.id(2))', '{"email": "anna@localhost"}', 'google', now());
                update auth.users set phone = '4587654321' where id = '\(OperatorStage.id(4))';
                """
            )
            let command = ["deletion", "request", "--file", path]
            let words = [
                ("--reason", "call 4512345678", "a phone number of the account"),
                ("--reason", "sub 109876543210987654321", "an id that the account has at a provider"),
                ("--reason", "anna@localhost", "an e-mail address of the account"),
                ("--ticket", OperatorStage.id(1).filter { $0 != "-" }, "the id of the account"),
            ]
            for (option, text, what) in words {
                for confirmation in ["--dry-run", "--confirm=3"] {
                    let result = try await stage.run(command + [confirmation, option, text])
                    #expect(result.status == 2, "\(text): \(result.output)")
                    #expect(result.errors.contains("\(option) contains \(what):"), "\(text): \(result.errors)")
                }
            }
            #expect(try await BulkRun.requests(database) == "0|0")
            #expect(try await database.psql("select count(*) from accountctl.operator_log") == "0")
            let result = try await stage.run(command + ["--confirm=3", "--reason", "call 4587654321"])
            #expect(result.status == 0, "\(result.errors)")
            #expect(try await BulkRun.requests(database) == "3|3")
        }
    }

    @Test("A file that is no result file is left unchanged, and a role without rights does nothing")
    func refused() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            let path = try BulkRun.write([1, 2].map(OperatorStage.id), stage)
            let other = stage.path("notes")
            try "my notes\n".write(toFile: other, atomically: true, encoding: .utf8)
            let command = ["deletion", "request", "--file", path, "--confirm=2"]
            let strange = try await stage.run(command + ["--result", other])
            #expect(strange.status == 2)
            #expect(strange.errors.contains("is not a result file"))
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "my notes\n")
            let denied = try await stage.run(command, as: "authenticated")
            #expect(denied.status == 4, "\(denied.errors)")
            #expect(try await BulkRun.requests(database) == "0|0")
        }
    }
}
