import Foundation
import TestSupport
import Testing

@Suite("Listing accounts through the program", .timeLimit(.minutes(5)))
struct UserListTests {
    /// Statements that give each of nine accounts something that a filter can select.
    private static let differences = """
        update auth.users set created_at = '2020-01-01', last_sign_in_at = now() - interval '1 day';
        update auth.users set created_at = '2024-05-05T00:00:00Z' where id = '\(OperatorStage.id(1))';
        update auth.users set last_sign_in_at = null where id = '\(OperatorStage.id(2))';
        update auth.users set last_sign_in_at = '2023-03-03T10:00:00Z' where id = '\(OperatorStage.id(3))';
        update auth.users set banned_until = now() + interval '1 day' where id = '\(OperatorStage.id(4))';
        update auth.users set banned_until = now() - interval '1 day' where id = '\(OperatorStage.id(5))';
        update auth.users set is_anonymous = true where id = '\(OperatorStage.id(5))';
        update auth.users set deleted_at = now() where id = '\(OperatorStage.id(6))';
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        values
            ('s7', '\(OperatorStage.id(7))', '{"custom_claims": {"is_private_email": "true"}}', 'apple', now()),
            ('s8', '\(OperatorStage.id(8))', '{"is_private_email": false}', 'apple', now()),
            ('g8', '\(OperatorStage.id(8))', '{}', 'google', now());
        insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline)
        values
            ('\(OperatorStage.id(8))', 'app', 'grace', now(), now() + interval '1 month'),
            ('\(OperatorStage.id(9))', 'app', 'blocked', now(), now() + interval '1 month');
        insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, finished_at)
        values ('\(OperatorStage.id(1))', 'app', 'cancelled', now(), now() + interval '1 month', now());
        """

    /// The numbers of the accounts that are listed.
    private func listed(_ words: [String], _ stage: OperatorStage) async throws -> [Int] {
        let result = try await stage.run(["user", "list", "--format", "tsv"] + words)
        #expect(result.status == 0, "\(words): \(result.errors)")
        return result.output.split(separator: "\n").map { Int($0.prefix { $0 != "\t" }.suffix(12)) ?? -1 }
    }

    @Test("Each filter selects what it says, its opposite selects the others, and the count is that of the list")
    func filters() async throws {
        try await OperatorStage.with(accounts: 9) { stage in
            try await stage.database.psql(Self.differences)
            let all = Array(1...9)
            #expect(try await listed([], stage) == all)
            let yesOrNo: [(String, [Int])] = [
                ("relay", [7]), ("banned", [4]), ("anonymous", [5]), ("soft-deleted", [6]), ("deletion", [8, 9]),
            ]
            var cases: [([String], [Int])] = yesOrNo.flatMap { name, some in
                [(["--\(name)"], some), (["--no-\(name)"], all.filter { !some.contains($0) })]
            }
            cases += [
                (["--created-after", "2024-05-05"], [1]), (["--created-after", "2024-05-06"], []),
                (["--created-before", "2024-05-05"], all.filter { $0 != 1 }),
                (["--created-before", "2024-05-05T00:00:01Z"], all),
                // Times as tables, PostgreSQL and other programs write them.
                (["--created-after", "2024-05-05 00:00:00Z"], [1]), (["--created-after", "2024-05-05 00:00:01Z"], []),
                (["--created-after", "2024-05-05 01:00:00+01"], [1]),
                (["--created-after", "2024-05-05T01:00:00.001+01:00"], []),
                (["--created-before", "2024-05-04 22:00:00-0200"], all.filter { $0 != 1 }),
                (["--signed-in-after", "30d"], all.filter { ![2, 3].contains($0) }),
                (["--signed-in-after", "2023-03-03T10:00:00Z"], all.filter { $0 != 2 }),
                (["--signed-in-before", "30d"], [3]), (["--signed-in-before", "2023-03-03T10:00:00Z"], []),
                (["--idle-since", "30d"], [2, 3]), (["--provider", "apple"], [7, 8]), (["--provider", "Google"], [8]),
                (["--provider", "nothing"], []), (["--deletion-state", "grace"], [8]),
                (["--deletion-state", "grace", "--deletion-state", "blocked"], [8, 9]),
                (["--deletion-state", "running"], []), (["--provider", "apple", "--no-deletion"], [7]),
                (["--deletion", "--deletion-state", "blocked"], [9]),
            ]
            for (words, expected) in cases {
                #expect(try await listed(words, stage) == expected, "\(words)")
                let count = try await stage.run(["user", "list", "--count"] + words)
                #expect(count.output == "\(expected.count)\n", "\(words): \(count.errors)")
            }
            #expect(try await listed(["--limit", "2", "--after", OperatorStage.id(3)], stage) == [4, 5])
        }
    }

    @Test("Wrong use is refused with the name of the option, and nothing is read")
    func usage() async throws {
        let cases: [([String], String)] = [
            (["--created-after", "yesterday"], "--created-after: \"yesterday\""),
            (["--idle-since", ""], "--idle-since"),
            (["--created-after", "2026-11-20T18:00Z"], "\"2026-11-20T18:00Z\" is not a date"),
            (["--created-after", "2026-11-20T18:00:00"], "moment with its zone"),
            (["--created-after", "2026-11-20 18:00:00"], "moment with its zone"),
            (["--created-before", "2026-11-20garbage"], "\"2026-11-20garbage\" is not a date"),
            (["--created-before", "2026-11-20 "], "--created-before"),
            (["--signed-in-after", "2026-11-20T12:00:00Z and more"], "--signed-in-after"),
            (["--signed-in-after", "2026-02-29"], "--signed-in-after"),
            (["--signed-in-before", "2026-13-01"], "--signed-in-before"),
            (["--signed-in-after", "x\u{1B}"], "x\\u{1b}"),
            (["--after", "anna"], "--after: \"anna\" is not a user id"),
            (["--json", "id,stat"], "Did you mean state?"),
            (["--tsv", "nmae,id"], "nmae"),
        ]
        try await OperatorStage.with { stage in
            for (words, hint) in cases {
                let result = try await stage.run(["user", "list"] + words)
                #expect(result.status == 2 && result.output.isEmpty, "\(words): \(result.errors)")
                #expect(result.errors.contains(hint), "\(words): \(result.errors)")
            }
        }
    }

    @Test(
        "A mistake in the words is refused with the name of the option",
        arguments: [
            (["--limit", "0"], "--limit"), (["--count", "--limit", "3"], "--count"),
            (["--deletion-state", "verified"], "--deletion-state"),
            (["--deletion-state", "gone"], "waiting_for_apple"), (["--provider", " "], "--provider is empty"),
            (["--no-deletion", "--deletion-state", "grace"], "cannot be combined"),
            (
                ["--format", "csv", "--json", "id,state"],
                "--json and --format csv cannot be combined: write --csv id,state"
            ),
            (["--format", "tsv", "--json"], "--json and --format tsv cannot be combined"),
            (["--format", "ndjson", "--csv"], "--csv and --format ndjson cannot be combined"),
            (["--csv", "id", "--json"], "--json and --csv cannot be combined"),
            (["--csv", "id", "--json", "--format", "table"], "--json, --csv and --format table cannot be combined"),
            (["--csv", "id", "--json", "--format", "csv"], "error: --json and --csv cannot be combined"),
        ]
    )
    func mistakes(_ words: [String], _ hint: String) throws {
        let mistake = try #require(CommandLineMistake(["user", "list"] + words))
        #expect(mistake.status == 2)
        #expect(mistake.errors.contains(hint), "\(mistake.errors)")
    }

    @Test("The formats for programs hold the same data, and fields can be selected by name")
    func forms() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            try await stage.database.psql("update auth.users set email = 'a,\"b\"@example.com' where email like 'u1@%'")
            func list(_ words: String...) async throws -> String {
                try await stage.run(["user", "list", "--reveal"] + words).output
            }
            let ids = [1, 2].map(OperatorStage.id)
            #expect(
                try await list("--format", "ndjson", "--json", "state,id")
                    == ids.map { #"{"id":"\#($0)","state":"active"}"# + "\n" }.joined()
            )
            let csv = try await list("--format", "csv").split(separator: "\n")
            #expect(csv[0].hasPrefix("id,email,state,providers,created_at,last_sign_in_at"))
            #expect(csv[1].hasPrefix(ids[0] + #","a,""b""@example.com",active,"#), "\(csv[1])")
            #expect(
                try await list("--format", "tsv").split(separator: "\n").map { $0.prefix(36) } == ids.map { $0[...] }
            )
            #expect(try await list("--tsv", "state,id") == ids.map { "active\t\($0)\n" }.joined())
            #expect(try await list("--csv", "id") == "id\n" + ids.map { $0 + "\n" }.joined())
            #expect(try await list("--csv") == list("--format", "csv"))
            #expect(try await list("--csv", "id", "--format", "csv", "--banned") == "id\n")
            #expect(try await list("--json", "id", "--limit", "1") == "[\n{\"id\":\"\(ids[0])\"}\n]\n")
            let none = try await stage.run(["user", "list", "--banned", "--json"])
            #expect(none.status == 0 && none.output == "[]\n")
        }
    }

    @Test("Ten times the accounts need no more memory")
    func memory() async throws {
        try await OperatorStage.with { stage in
            func peak(_ words: [String]) async throws -> Int {
                let process = try AccountctlProcess(
                    ["user", "list", "--format", "ndjson"] + words,
                    environment: stage.variables.merging(["MALLOC_ARENA_MAX": "1"]) { $1 }
                )
                var peak = 0
                while process.isRunning {
                    let status = (try? String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)) ?? ""
                    if let most = status.firstMatch(of: /VmHWM:\s*(\d+) kB/)?.1 { peak = max(peak, Int(most) ?? 0) }
                    try await Task.sleep(for: .milliseconds(2))
                }
                let result = try await process.result()
                #expect(result.status == 0 && result.output.split(separator: "\n").count >= 5000)
                return peak
            }
            try await stage.database.psql(
                """
                set session_replication_role = replica;
                insert into auth.users (instance_id, id, email, created_at)
                select '00000000-0000-0000-0000-000000000000', ('00000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid,
                    'u' || g || '@example.com', now()
                from generate_series(1, 50000) as g;
                """
            )
            // Read from outside, which may miss the peak at the end of a run: so several runs of each, if they are needed.
            // If rows were kept, each would cost more than a hundred bytes.
            var (few, many) = (0, try await peak([]))
            for _ in 0..<5 where few == 0 || many - few >= 4000 {
                few = try await max(few, peak(["--limit", "5000"]))
            }
            if many - few >= 4000 { many = try await min(many, peak([])) }
            #expect(few > 0 && many - few < 4000, "\(few) kB for 5,000, \(many) kB for 50,000")
        }
    }

    @Test("A role from which row-level security hides accounts is refused, whatever it may read")
    func hiddenAccounts() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let support = "support_\(UUID().uuidString.prefix(8).lowercased())"
            try await stage.database.psql("create role \(support) login in role pg_read_all_data")
            for words in [
                ["find", "u1@example.com"], ["list"], ["list", "--count"], ["show", OperatorStage.id(1)],
                ["watch", OperatorStage.id(1)],
            ] {
                let refused = try await stage.run(["user"] + words, as: support)
                #expect(refused.status == 4, "\(words): \(refused.errors)")
                #expect(refused.output.isEmpty)
                #expect(refused.errors.contains("row-level security hides rows of auth.users"), "\(refused.errors)")
            }
            let plan = try await stage.run(["deletion", "plan", OperatorStage.id(1)], as: support)
            #expect(plan.status == 4, "\(plan.errors)")
            try await stage.database.psql("alter role \(support) bypassrls")
            #expect(try await stage.run(["user", "list", "--count"], as: support).output == "2\n")
            try await stage.database.psql("drop role \(support)")
        }
    }

    @Test("A ban without end counts as a ban, and is shown as one")
    func endlessBan() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let id = OperatorStage.id(1)
            try await stage.database.psql("update auth.users set banned_until = 'infinity' where id = '\(id)'")
            let list = try await stage.run(["user", "list", "--banned", "--json", "id,state,banned_until"])
            #expect(list.output.contains(#"{"banned_until":null,"id":"\#(id)","state":"banned"}"#), "\(list.output)")
            let find = try await stage.run(["user", "find", id, "--json", "state"])
            #expect(find.output.contains(#"{"state":"banned"}"#), "\(find.output)")
            let show = try await stage.run(["user", "show", id])
            #expect(show.output.contains("Banned until") && show.output.contains("without end"), "\(show.output)")
            #expect(show.output.contains("Supabase cannot read"), "\(show.output)")
        }
    }
}
