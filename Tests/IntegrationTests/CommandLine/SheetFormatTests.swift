import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("Single objects as CSV and TSV", .timeLimit(.minutes(5)))
struct SheetFormatTests {
    @Test("CSV has a line of names and a line of values, and TSV only the values")
    func forms() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let csv = try await stage.run(["user", "show", id, "--format", "csv"])
            #expect(csv.status == 0, "\(csv.errors)")
            let lines = csv.output.split(separator: "\n")
            #expect(lines.count == 2, "\(csv.output)")
            let names = lines.first?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
            #expect(names.prefix(2) == ["id", "state"])
            #expect(lines.last?.hasPrefix("\(id),active,") == true, "\(csv.output)")
            let tsv = try await stage.run(["user", "show", id, "--format", "tsv"])
            #expect(tsv.output.split(separator: "\n").count == 1)
            let cells = tsv.output.dropLast().split(separator: "\t", omittingEmptySubsequences: false)
            #expect(cells.prefix(2) == [id[...], "active"])
            #expect(cells.count == names.count)
            let act = try await stage.run(["user", "sign-out", id, "--format", "csv"])
            #expect(act.output == "id,outcome\n\(id),unchanged\n", "\(act.output)")
            let dry = try await stage.run(["user", "export", id, "--dry-run", "--format", "csv", "--without-files"])
            #expect(dry.output.hasPrefix("account,output,rows,files,"), "\(dry.output) \(dry.errors)")
        }
    }

    /// The column names in the first line of CSV.
    private func columns(_ stage: OperatorStage, _ words: [String]) async throws -> [String] {
        try await columns(stage.run(words + ["--csv"]))
    }

    private func columns(_ result: AccountctlProcess.Result) -> [String] {
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2, "\(result)")
        return lines.first?.split(separator: ",").map(String.init) ?? []
    }

    /// The JSON members that the columns belong to.
    private func members(_ columns: [String]) -> [String] {
        var names: [String] = []
        for name in columns.map({ String($0.prefix { $0 != "." }) }) where names.last != name { names.append(name) }
        return names
    }

    @Test("An account has the same columns in every state, the fields that the help lists")
    func accounts() async throws {
        try await OperatorStage.with(accounts: 5) { stage in
            try await stage.database.psql(
                """
                update auth.users set banned_until = 'infinity' where id = '\(OperatorStage.id(2))';
                update auth.users set deleted_at = now() where id = '\(OperatorStage.id(3))';
                update auth.users set email = 'x@privaterelay.appleid.com' where id = '\(OperatorStage.id(4))';
                insert into auth.identities (provider_id, user_id, identity_data, provider)
                values ('s4', '\(OperatorStage.id(4))', '{"email": "x@privaterelay.appleid.com"}', 'apple');
                delete from public.profiles where id = '\(OperatorStage.id(5))';
                """
            )
            try await stage.request(OperatorStage.id(4))
            let expected = try await columns(stage, ["user", "show", OperatorStage.id(1)])
            #expect(members(expected) == UserShowCommand.outputFields)
            #expect(expected.filter { $0.contains(".") } == UserShowCommand.sectionFields)
            for number in 2...5 {
                #expect(try await columns(stage, ["user", "show", OperatorStage.id(number)]) == expected, "\(number)")
            }
            let help = try await stage.run(["user", "show", "--help"])
            #expect(help.output.contains("FIELDS\n  id, state, banned_until,"), "\(help.output)")
            #expect(help.output.contains("\n  With --csv and --tsv also auth.email, "), "\(help.output)")
            // A field that belongs to another state is null, not an error.
            let some = try await stage.run(["user", "show", OperatorStage.id(1), "--json", "state,request"])
            #expect(some.output == "{\n  \"request\": null,\n  \"state\": \"active\"\n}\n", "\(some.errors)")
            let tsv = try await stage.run([
                "user", "show", "--tsv", "id,relay.known_by,auth.email", OperatorStage.id(4),
            ])
            #expect(tsv.output == "\(OperatorStage.id(4))\tdomain\tx***@p***.com\n", "\(tsv.errors)")
        }
    }

    @Test("Other commands on one object print the columns that the help lists")
    func things() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let job = try await stage.database.psql(
                """
                select accountctl.enqueue_job('apple.read_inbox', queue => 'apple');
                """
            )
            #expect(try await stage.run(["relay", "check", "--json"]).output == "[]\n")
            try await stage.database.psql(
                """
                insert into accountctl.mail_streams (name, from_domain, envelope_domain, signing_domain)
                values ('news', 'x.test', 'x.test', 'x.test')
                """
            )
            try await stage.request(id)
            let open = try await columns(stage, ["deletion", "show", id])
            #expect(members(open) == DeletionShowCommand.outputFields)
            #expect(open.filter { $0.contains(".") } == DeletionShowCommand.sectionFields)
            let stream = try await columns(stage, ["relay", "stream", "show", "news"])
            #expect(stream.filter { $0.contains(".") } == RelayStreamShowCommand.sectionFields)
            let list = try await stage.run(["deletion", "export"])
            try list.output.write(toFile: stage.path("list"), atomically: true, encoding: .utf8)
            let cases: [([String], [String])] = [
                (["deletion", "replay", stage.path("list")], DeletionReplayCommand.outputFields),
                (["deletion", "plan", id], DeletionPlanCommand.outputFields),
                (["audit", "show", "1"], AuditShowCommand.outputFields),
                (["jobs", "show", job], JobsShowCommand.outputFields),
                (["jobs", "stats"], JobsStatsCommand.outputFields),
                (["jobs", "pause", "mail", "--yes"], JobsPauseCommand.outputFields),
                (["jobs", "resume", "mail"], JobsResumeCommand.outputFields),
                (["jobs", "limit", "mail", "--none"], JobsLimitCommand.outputFields),
                (["relay", "stream", "show", "news"], RelayStreamShowCommand.outputFields),
                (["relay", "stream", "remove", "news", "--dry-run"], RelayStreamRemoveCommand.outputFields),
                (["relay", "can-send", "--stream", "news", "--user", id], RelayCanSendCommand.outputFields),
                (["avatars", "sweep"], AvatarsSweepCommand.outputFields),
                (["user", "export", id, "--dry-run", "--without-files"], UserExportCommand.outputFields),
                (["user", "hold", id, "--reason", "why"], UserHoldCommand.outputFields),
                (["deletion", "pause", id], DeletionPauseCommand.outputFields),
                (["deletion", "resume", id], DeletionResumeCommand.outputFields),
                (["deletion", "cancel", id], DeletionCancelCommand.outputFields),
            ]
            for (words, fields) in cases {
                #expect(try await members(columns(stage, words)) == fields, "\(words)")
            }
            #expect(try await columns(stage, ["deletion", "show", id]) == open)
        }
    }

    @Test("Commands on migrations print the columns that the help lists")
    func migrations() async throws {
        try await TestDatabase.withPlatform { database in
            for (words, fields) in [
                (["plan"], MigratePlanCommand.outputFields), (["up", "--dry-run"], MigrateUpCommand.outputFields),
            ] {
                let act = ["migrate"] + words + ["--csv"]
                let result = try await AccountctlProcess(act, environment: database.variables).result()
                #expect(members(columns(result)) == fields, "\(act)")
            }
        }
    }

    @Test("One account and many accounts, dry runs and real runs have the same columns")
    func requests() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
            let path = stage.path("ids.txt")
            try [2, 3, 2].map { OperatorStage.id($0) + "\n" }.joined().write(
                toFile: path,
                atomically: true,
                encoding: .utf8
            )
            let (one, many) = (["deletion", "request", OperatorStage.id(1)], ["deletion", "request", "--file", path])
            for words in [
                one + ["--dry-run"], one + ["--confirm=\(OperatorStage.id(1))"], many + ["--dry-run"],
                many + ["--confirm=2"],
            ] {
                #expect(try await columns(stage, words) == DeletionRequestCommand.outputFields, "\(words)")
            }
            let repeated = try await stage.run(many + ["--confirm=2", "--tsv", "outcome,requested,repeated,request"])
            #expect(repeated.output == "requested\t0\t1\t\n", "\(repeated.errors)")
            for words in [["relay", "addresses"], ["relay", "addresses", "--list"]] {
                let header = try await stage.run(words + ["--csv"]).output.split(separator: "\n").first
                #expect(header.map(String.init) == RelayAddressesCommand.outputFields.joined(separator: ","))
            }
            #expect(try await stage.run(["user", "list", "--count", "--csv", "count"]).output == "count\n3\n")
        }
    }

    @Test("An unknown field is refused before anything is done")
    func unknownFields() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let id = OperatorStage.id(1)
            let path = stage.path("ids.txt")
            try (id + "\n" + OperatorStage.id(2) + "\n").write(toFile: path, atomically: true, encoding: .utf8)
            let cases: [([String], String)] = [
                (["deletion", "request", "--file", path, "--confirm=2", "--csv", "outcome,requsted"], "requested"),
                (["deletion", "request", id, "--confirm=\(id)", "--json=requst"], "request"),
                (["user", "hold", id, "--reason", "why", "--yes", "--json=idd"], "id"),
                (["deletion", "pause", id, "--tsv=requets"], "request"),
                (["migrate", "up", "--json=aplied"], "applied"),
                (["user", "show", id, "--csv", "auth.emial"], "auth.email"),
                (["user", "list", "--count", "--tsv", "counts,count"], "count"),
            ]
            for (words, meant) in cases {
                let result = try await stage.run(words)
                #expect(result.status == 2 && result.output.isEmpty, "\(words): \(result.output)")
                #expect(result.errors.contains("Did you mean \(meant)?"), "\(words): \(result.errors)")
            }
            let none = try await stage.run(["keys", "new", "hash", "--json=id"])
            #expect(none.status == 2 && none.errors.contains("there is no field \"id\""), "\(none)")
            let counted = try await stage.run(["user", "list", "--count", "--tsv", "id"])
            #expect(counted.status == 2 && counted.errors.contains("Fields: count"), "\(counted)")
            #expect(!FileManager.default.fileExists(atPath: path + ".results.ndjson"))
            let done =
                "select (select count(*) from accountctl.deletion_requests) + (select count(*) from accountctl.holds)"
            #expect(try await stage.database.psql(done) == "0")
        }
    }

    @Test("The version does not depend on where the program was built")
    func version() async throws {
        let result = try await AccountctlProcess.run("--version")
        #expect(result.status == 0 && result.output.hasPrefix("accountctl 0."), "\(result.output)")
    }
}
