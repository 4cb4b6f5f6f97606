import Foundation
import TestSupport
import Testing

@Suite("Finding accounts through the program", .timeLimit(.minutes(5)))
struct UserFindTests {
    private static let anna = "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"
    private static let hidden = "00000000-0000-4000-8000-000000000002"
    private static let digits = "00000000-0000-4000-8000-000000000003"
    private static let enterprise = "00000000-0000-4000-8000-000000000004"
    private static let request = "00000000-0000-4000-8000-00000000000a"
    private static let sub = "001234.0123456789abcdef0123456789abcdef.0123"

    /// Anna, who is to be erased; somebody behind Apple's relay; somebody whose names are digits; Anna's namesake at an
    /// enterprise.
    private static let people = """
        insert into auth.users (instance_id, id, aud, role, email, phone, created_at, is_sso_user, deleted_at)
        select '00000000-0000-0000-0000-000000000000'::uuid, id::uuid, 'authenticated', 'authenticated', email, phone, now(),
            sso, gone
        from (
            values
                ('\(anna)', 'Anna@Example.com', '491511234567', false, null::timestamptz),
                ('\(hidden)', 'abc123@privaterelay.appleid.com', null, false, now()),
                ('\(digits)', 'digits@example.com', '4242424', false, null),
                ('\(enterprise)', 'anna@example.com', null, true, null)
        ) as p (id, email, phone, sso, gone);
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        values
            ('\(anna)', '\(anna)', '{"email": "anna@example.com"}', 'email', now()),
            ('\(sub)', '\(hidden)', '{"email": "abc123@privaterelay.appleid.com"}', 'apple', now()),
            ('g-77', '\(digits)', '{"email": "digits@example.com"}', 'google', now()),
            ('4242424', '\(enterprise)', '{"email": "anna@example.com"}', 'keycloak', now());
        update public.profiles set username = 'anna_k' where id = '\(anna)';
        update public.profiles set username = '4242424' where id = '\(enterprise)';
        update public.profiles set username = 'a%b_c''d"' where id = '\(digits)';
        insert into accountctl.deletion_requests (
            id, user_id, origin, state, run_after, legal_deadline, locked_out_at
        )
        values ('\(request)', '\(anna)', 'app', 'running', now(), '2030-02-03T04:05:06Z', now());
        insert into accountctl.deletion_steps (request_id, step, runs, started_at)
        values ('\(request)', 'lock_out', 1, now() - interval '1 minute'), ('\(request)', 'delete_rows', 1, now());
        """

    private struct Row: Decodable {
        let id: String?
        let state: String
        let matched: [String]
        let term: String?
        let step: String?
        let request: String?
        let receipt: Int?
        let number: Int?
    }

    private func rows(_ result: AccountctlProcess.Result) throws -> [Row] {
        try result.output.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    private func find(_ words: [String], _ stage: OperatorStage, input: String? = nil) async throws -> (
        rows: [Row], result: AccountctlProcess.Result
    ) {
        let result = try await stage.run(["user", "find"] + words + ["--format", "ndjson"], input: input)
        return (try rows(result), result)
    }

    @Test("Every kind of term, in every spelling, leads to the account, and says what matched")
    func kinds() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            let terms: [(words: [String], id: String, matched: String)] = [
                ([Self.anna.uppercased()], Self.anna, "id"), (["{\(Self.anna)}"], Self.anna, "id"),
                (["urn:uuid:\(Self.anna)"], Self.anna, "id"),
                ([Self.anna.replacingOccurrences(of: "-", with: "")], Self.anna, "id"),
                (["ABC123@PrivateRelay.AppleID.com"], Self.hidden, "email"),
                (["mailto:digits@EXAMPLE.com"], Self.digits, "email"),
                (["Di Gits <digits@example.com>"], Self.digits, "email"),
                (["+49 (151) 123-4567"], Self.anna, "phone"), (["0049 151 1234567"], Self.anna, "phone"),
                (["49.151.1234567", "--by", "phone"], Self.anna, "phone"), ([Self.sub], Self.hidden, "apple-sub"),
                ([Self.sub, "--by", "apple-sub"], Self.hidden, "apple-sub"), (["g-77"], Self.digits, "provider-id"),
                (["g-77", "--by", "provider-id"], Self.digits, "provider-id"), (["anna_k"], Self.anna, "username"),
                ([Self.request.uppercased()], Self.anna, "request"),
                ([Self.request, "--by", "request"], Self.anna, "request"),
            ]
            for (words, id, matched) in terms {
                let (rows, result) = try await find(words, stage)
                #expect(result.status == 0, "\(words): \(result.errors)")
                #expect(rows.map(\.id) == [id] && rows.first?.matched == [matched], "\(words): \(result.output)")
            }
            // Said to be another kind than it is, it is not found.
            for words in [
                [Self.anna, "--by", "request"], [Self.request, "--by", "id"], [Self.sub, "--by", "provider-id"],
                ["g-77", "--by", "apple-sub"], ["anna_k", "--by", "provider-id"], ["4242424", "--by", "receipt"],
            ] {
                let (rows, result) = try await find(words, stage)
                #expect(result.status == 3 && rows.map(\.state) == ["not_found"], "\(words): \(result.output)")
            }
            for words in [["anna_k", "--by", "email"], ["anna_k", "--by", "id"], ["x", "--by", "phone"]] {
                let result = try await find(words, stage).result
                #expect(result.status == 2 && result.output.isEmpty, "\(words)")
                #expect(result.errors.contains("cannot be of the kind \(words[2])"), "\(result.errors)")
            }
        }
    }

    @Test("Of what may be a phone number nothing is sworn, and half an address is told how to be looked for")
    func unsworn() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            for (words, isSworn, isWithoutCountry) in [
                (["01519999999"], false, true), (["01519999999", "--by", "phone"], false, true),
                (["+49 151 9999999"], false, false), (["4711", "--by", "receipt"], true, false),
                ([UUID().uuidString], true, false),
            ] {
                let result = try await stage.run(["user", "find"] + words)
                #expect(result.status == 3, "\(words)")
                #expect(result.errors.contains("none was erased") == isSworn, "\(words): \(result.errors)")
                #expect(result.errors.contains("its country's code") == isWithoutCountry, "\(words): \(result.errors)")
            }
            for (term, option) in [("anna@", "--prefix"), ("@example.com", "--contains")] {
                let half = try await stage.run(["user", "find", term])
                #expect(half.status == 2 && half.errors.contains("user find \(option) TERM"), "\(half)")
            }
        }
    }

    @Test("What may be several things, or is several people's, is all of them")
    func ambiguous() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            let (rows, result) = try await find(["4242424"], stage)
            #expect(result.status == 0)
            let matched = Dictionary(uniqueKeysWithValues: rows.map { ($0.id ?? "", $0.matched) })
            #expect(matched == [Self.digits: ["phone"], Self.enterprise: ["provider-id", "username"]])
            let by = try await find(["4242424", "--by", "username"], stage).rows
            #expect(by.map(\.id) == [Self.enterprise])
            #expect(Set(try await find(["ANNA@example.com"], stage).rows.map(\.id)) == [Self.anna, Self.enterprise])
            // No command acts on one of several.
            for words in [["show"], ["sign-out"], ["suspend", "--reason", "x", "--yes"], ["watch"]] {
                let refused = try await stage.run(["user", words[0], "4242424"] + words.dropFirst())
                #expect(refused.status == 2 && refused.output.isEmpty, "\(words)")
                #expect(refused.errors.contains("names 2 accounts") && refused.errors.contains(Self.digits))
            }
            let acted = "select count(*) from accountctl.operator_log"
            #expect(try await stage.database.psql(acted) == "0")
        }
    }

    @Test("Several terms and standard input give a row for each, also for one that was never there")
    func lists() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            let never = UUID().uuidString.lowercased()
            let input = "\u{FEFF}anna_k\r\n\n   \nnobody@example.com\n\(never)\n"
            let (rows, result) = try await find(["g-77", "-"], stage, input: input)
            #expect(result.status == 3)
            #expect(rows.map(\.id) == [Self.digits, Self.anna, nil, nil], "\(result.output)")
            #expect(rows.map(\.state) == ["active", "deletion_running", "not_found", "not_found"])
            // The first word, then the lines.
            #expect(rows.map(\.number) == [1, 2, 5, 6])
            #expect(result.errors.contains("\"nobody@example.com\"") && result.errors.contains("and none was erased"))
            let json = try await stage.run(["user", "find", never, "nobody", "--json", "id,state"])
            #expect(json.output == #"[\#n{"id":null,"state":"not_found"},\#n{"id":null,"state":"not_found"}\#n]\#n"#)
            // Without the key nothing tells whether it was erased, and nobody says that it was not.
            let without = stage.variables.filter { $0.key != "ACCOUNTCTL_KEYS_HASH_FILE" }
            let blind = try await AccountctlProcess(["user", "find", never, "--json", "state"], environment: without)
                .result()
            #expect(blind.status == 3 && blind.output.contains(#""unknown""#), "\(blind.output)")
            #expect(blind.errors.contains("cannot be told without keys.hash_file"))
            let bad = try await find(["-", "--by", "email"], stage, input: "a@example.com\nanna\n")
            #expect(bad.result.status == 2 && bad.result.output.isEmpty)
            #expect(bad.result.errors.contains("line 2: \"anna\" cannot be of the kind email"), "\(bad.result.errors)")
            let none = try await find(["-"], stage, input: "\n")
            #expect(none.result.status == 0 && none.rows.isEmpty)
        }
    }

    @Test("Soft-deleted, under way with step and deadline, in words and for programs")
    func states() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            let (rows, _) = try await find([Self.hidden, Self.anna], stage)
            #expect(rows.map(\.state) == ["soft_deleted", "deletion_running"])
            #expect(rows.last?.step == "delete_rows" && rows.last?.request == Self.request)
            let words = try await stage.run(["user", "find", Self.anna])
            #expect(words.output.contains("deletion_running"))
            for part in ["2030-02-03", "running, step delete_rows", Self.request] {
                #expect(words.errors.contains(part), "\(words.errors)")
            }
            let shown = try await stage.run(["user", "show", Self.anna, "--json", "state,step,legal_deadline"])
            #expect(shown.output.contains("delete_rows") && shown.output.contains("2030-02-03T04:05:06"))
            // Why it does not go on, and where that is told at length.
            try await stage.database.psql(
                """
                update accountctl.deletion_requests
                set state = 'blocked', situation = '{"code": "undecided_bucket", "subject": "scans"}', paused_at = now()
                """
            )
            let still = try await stage.run([
                "user", "show", Self.anna, "--json", "situation,subject,paused,warnings",
            ])
            for part in [
                #""situation": "undecided_bucket""#, #""subject": "scans""#, #""paused": true"#,
                "accountctl deletion show \(Self.request)", "paused by itself",
            ] { #expect(still.output.contains(part), "\(part): \(still)") }
            // Pasted as it stands, the command acts where this one looked.
            let config = stage.path("staging.conf")
            try Data().write(to: URL(fileURLWithPath: config))
            let elsewhere = try await stage.run(["user", "show", Self.anna, "--config", config])
            #expect(elsewhere.output.contains("accountctl --config \(config) deletion show"), "\(elsewhere)")
        }
    }

    @Test("An erased account is told by its id, its request and its receipt, with date and number")
    func erased() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-input"]
            #expect(try await AccountctlProcess(words, environment: site.variables).result().status == 0)
            let receipt = try await site.database.psql("select number from accountctl.deletion_receipts")
            let request = try await site.database.psql("select request_id from accountctl.deletion_receipts")
            let day = try await site.database.psql("select to_char(now() at time zone 'utc', 'YYYY-MM-DD')")
            for term in [account, request, receipt, "#" + receipt] {
                let (told, found) = try await (
                    AccountctlProcess(["user", "find", term], environment: site.variables).result(),
                    AccountctlProcess(["user", "find", term, "--format", "ndjson"], environment: site.variables)
                        .result()
                )
                #expect(told.status == 3 && told.output.split(separator: "\n").count <= 1, "\(told.output)")
                #expect(told.errors.contains("erased on \(day)") && told.errors.contains("receipt \(receipt)"))
                let rows = try rows(found)
                #expect(rows.map(\.state) == ["erased"] && rows.first?.receipt == Int(receipt), "\(found.output)")
                #expect(rows.first?.request == request && rows.first?.id == nil)
            }
            let mail = try await AccountctlProcess(["user", "find", "stays2@example.com"], environment: site.variables)
                .result()
            #expect(mail.status == 3 && mail.errors.contains("found by its user id or receipt only"))
            // Somebody's username is the receipt's number: both are told.
            try await site.database.psql(
                """
                alter table accountctl.deletion_receipts alter column number restart with 4711;
                update accountctl.deletion_receipts set number = default;
                update public.profiles set username = '4711'
                where id = (select id from auth.users where email = 'stays1@example.com')
                """
            )
            let both = try await AccountctlProcess(
                ["user", "find", "4711", "--format", "ndjson"],
                environment: site.variables
            ).result()
            #expect(try rows(both).map(\.state) == ["active", "erased"], "\(both.output)")
            #expect(both.status == 0 && both.errors.contains("receipt 4711 is that of an account that was erased"))
            // Nobody who means the one acts on the other.
            for words in [
                ["user", "suspend", "4711", "--reason", "x", "--yes"], ["user", "show", "4711"],
                ["deletion", "request", "4711", "--confirm=4711", "--no-input"], ["audit", "list", "--user", "4711"],
            ] {
                let refused = try await AccountctlProcess(words, environment: site.variables).result()
                #expect(refused.status == 2 && refused.output.isEmpty, "\(words): \(refused)")
                #expect(
                    refused.errors.contains("names 2 accounts") && refused.errors.contains("(receipt 4711)"),
                    "\(refused)"
                )
                #expect(refused.errors.contains("--by") == (words[0] != "audit"), "\(refused)")
            }
            let meant = try await AccountctlProcess(
                ["user", "show", "4711", "--by", "username"],
                environment: site.variables
            ).result()
            #expect(meant.status == 0, "\(meant)")
        }
    }

    @Test("An account that is gone before its erasure is finished is told with state, step and deadline")
    func leaving() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let (account, request) = ("3f0e9d8c-0000-4000-8000-000000000001", "4f0e9d8c-0000-4000-8000-000000000002")
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, user_id, origin, state, run_after, legal_deadline, locked_out_at, settle_after
                )
                values ('\(request)', '\(account)', 'app', 'settling', now(), '2030-02-03T04:05:06Z', now(), now());
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                values ('\(request)', 'delete_rows', 1, now() - interval '1 minute'), ('\(request)', 'verify', 1, now())
                """
            )
            let facts = ["2030-02-03", "settling, step verify", request, account, "is gone"]
            for words in [[account], [request], ["--prefix", "3f0e9d8c"], ["--prefix", "4f0e9d", "--by", "request"]] {
                let (rows, result) = try await find(words, stage)
                #expect(result.status == 3, "\(words): \(result.errors)")
                #expect(rows.map(\.state) == ["deletion_settling"] && rows.first?.id == account, "\(result.output)")
                #expect(rows.first?.step == "verify" && rows.first?.request == request, "\(result.output)")
                #expect(rows.first?.matched == [], "\(result.output)")
                for fact in facts { #expect(result.errors.contains(fact), "\(words): \(result.errors)") }
                #expect(!result.errors.contains("Look for parts"), "\(result.errors)")
            }
            for words in [[account, "--by", "request"], [request, "--by", "id"]] {
                let (rows, _) = try await find(words, stage)
                #expect(rows.map(\.state) == ["not_found"], "\(words)")
            }
            for words in [
                ["show", account], ["watch", request], ["export", account, "--dry-run"],
                ["hold", account, "--reason", "court"],
            ] {
                let result = try await stage.run(["user"] + words)
                #expect(result.status == 3 && result.output.isEmpty, "\(words): \(result.output)")
                for fact in facts + ["accountctl deletion show \(request)"] {
                    #expect(result.errors.contains(fact), "\(words): \(result.errors)")
                }
            }
            // An account that is there is not one that is gone.
            try await stage.database.psql(
                "insert into auth.users (id, email) values ('\(account)', 'back@example.com')"
            )
            let (rows, result) = try await find([account], stage)
            #expect(result.status == 0 && rows.map(\.matched) == [["id"]], "\(result.output)")
        }
    }

    @Test("By the start and by any part, with a limit that is told, and with wildcards taken at their word")
    func parts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            func ids(_ words: String...) async throws -> Set<String?> {
                Set(try await find(words, stage).rows.map(\.id))
            }
            #expect(try await ids("--prefix", "anna") == [Self.anna, Self.enterprise])
            #expect(try await ids("--prefix", "ANNA@exa") == [Self.anna, Self.enterprise])
            #expect(try await ids("--prefix", "a%b") == [Self.digits])
            #expect(try await ids("--prefix", "a_b") == [nil])
            #expect(try await ids("--prefix", "%") == [nil])
            #expect(try await ids("--contains", "RIVATErelay") == [Self.hidden])
            #expect(try await ids("--contains", "%b_c") == [Self.digits])
            #expect(try await ids("--contains", "b'd") == [nil])
            #expect(try await ids("--contains", #"c'd""#) == [Self.digits])
            #expect(try await ids("--contains", #"\"#) == [nil])
            // The address of a provider, which whole and start find, too.
            try await stage.database.psql(
                "update auth.identities set identity_data = '{\"email\": \"linked@example.net\"}' where provider = 'google'"
            )
            #expect(try await ids("--contains", "inked@EXAM") == [Self.digits])
            let cut = try await find(["--contains", "example", "--limit", "2"], stage)
            #expect(cut.rows.count == 2 && cut.result.errors.contains("more than 2 accounts"), "\(cut.result.errors)")
            #expect(cut.result.errors.contains("reads the whole table"))
            for words in [["--prefix", "--contains", "a"], ["a", "--limit", "0"], ["a", "--limit", "1001"], []] {
                #expect(try await find(words, stage).result.status == 2, "\(words)")
            }
        }
    }

    @Test("The start of anything that has an index is found, and what was not compared is told")
    func starts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            // An address that no identity knows: of somebody whom an operator entered by hand.
            try await stage.database.psql(
                """
                insert into auth.users (id, email, created_at) values ('\(OperatorStage.id(9))', 'zoe@example.com', now())
                """
            )
            let terms: [(words: [String], ids: [String], matched: String)] = [
                (["ABC1"], [Self.hidden], "email"), (["ZOE@"], [OperatorStage.id(9)], "email"),
                (["+49 (151) 1"], [Self.anna], "phone"), (["0049151"], [Self.anna], "phone"),
                (["001234.0123"], [Self.hidden], "apple-sub"), (["g-7"], [Self.digits], "provider-id"),
                (["anna_"], [Self.anna], "username"), (["8D3C2A1E-5b"], [Self.anna], "id"),
                (["8d", "--by", "id"], [Self.anna], "id"), ([Self.anna.uppercased()], [Self.anna], "id"),
                ([String(Self.request.dropLast(2)), "--by", "request"], [Self.anna], "request"),
                (["42", "--by", "phone"], [Self.digits], "phone"),
                (["4242", "--by", "username"], [Self.enterprise], "username"),
                (["g", "--by", "provider-id"], [Self.digits], "provider-id"),
            ]
            for (words, ids, matched) in terms {
                let (rows, result) = try await find(["--prefix"] + words, stage)
                #expect(result.status == 0, "\(words): \(result.errors)")
                #expect(rows.compactMap(\.id) == ids && rows.first?.matched == [matched], "\(words): \(result.output)")
            }
            for words in [["g-7", "--by", "apple-sub"], ["4242", "--by", "receipt"], ["zoe", "--by", "username"]] {
                #expect(try await find(["--prefix"] + words, stage).result.status == 3, "\(words)")
            }
            let short = try await find(["--prefix", "ab"], stage).result
            #expect(short.errors.contains("not compared with it: id (from 6 hexadecimal digits on"), "\(short.errors)")
            // A number with its country is one, unless one says otherwise.
            let number = try await find(["--prefix", "+4915"], stage).result
            #expect(number.errors.contains("email (only with --by)"), "\(number.errors)")
            let address = try await find(["--prefix", "+4915", "--by", "email"], stage).result
            #expect(address.status == 3 && !address.errors.contains("email"), "\(address.errors)")
            let other = try await find(["--prefix", "ab", "--by", "phone"], stage).result
            #expect(other.status == 2 && other.errors.contains("cannot be the start of"), "\(other.errors)")
            let part = try await find(["--contains", "ab", "--by", "phone"], stage).result
            #expect(part.status == 2 && part.errors.contains("--contains"), "\(part.errors)")
            // Without an index on the usernames the table is not read for them.
            try await stage.database.psql("alter table public.profiles drop constraint profiles_username_key")
            let unindexed = try await find(["--prefix", "anna_"], stage)
            #expect(unindexed.rows.map(\.state) == ["not_found"])
            #expect(unindexed.result.errors.contains("username (no index"), "\(unindexed.result.errors)")
            // Nor by an index in another order, or one that does not lead to all of them.
            let others = [
                "(username text_pattern_ops)", "(username collate \"C\")", "(lower(username))", "(id, username)",
                "(username) where id is not null", "using hash (username)",
            ]
            for other in others {
                try await stage.database.psql("create index other on public.profiles \(other)")
                let left = try await find(["--prefix", "anna_"], stage).result
                #expect(left.errors.contains("username (no index"), "\(other): \(left.errors)")
                try await stage.database.psql("drop index public.other")
            }
            try await stage.database.psql("create index other on public.profiles (username)")
            #expect(try await find(["--prefix", "anna_"], stage).rows.map(\.id) == [Self.anna])
        }
    }

    @Test("A table of profiles that is the app's own and no account's is left alone")
    func otherProfiles() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(Self.people)
            for columns in ["id bigint, username text unique", "id uuid, username integer unique"] {
                try await stage.database.psql(
                    "drop table public.profiles cascade; create table public.profiles (\(columns))"
                )
                for words in [["g-77"], ["--prefix", "g-77"], ["--contains", "digits"]] {
                    let (rows, result) = try await find(words, stage)
                    #expect(
                        result.status == 0 && rows.map(\.id) == [Self.digits],
                        "\(columns) \(words): \(result.errors)"
                    )
                }
            }
        }
    }

    @Test("The start of an erased account's id tells nothing, and more erased requests than are shown are told")
    func erasedStarts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, subject_hash, subject_key_id, origin, state, run_after, legal_deadline, locked_out_at, finished_at
                )
                select ('a0000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid, sha256(g::text::bytea), 'h1',
                    'app', 'verified', now(), now() + interval '1 month', now(), now()
                from generate_series(1, 3) as g
                """
            )
            for words in [["8d3c2a1e"], ["8d3c2a1e", "--by", "id"], ["8d", "--by", "id"]] {
                let (rows, result) = try await find(["--prefix"] + words, stage)
                #expect(result.status == 3 && rows.map(\.state) == ["unknown"], "\(words): \(result.output)")
                #expect(result.errors.contains("id (erased accounts: whole ids only)"), "\(result.errors)")
                #expect(result.errors.contains("cannot be told") && !result.errors.contains("none was erased"))
            }
            let request = try await find(["--prefix", "8d", "--by", "request"], stage)
            #expect(request.rows.map(\.state) == ["not_found"])
            let cut = try await find(["--prefix", "a", "--by", "request", "--limit", "2"], stage)
            #expect(cut.rows.map(\.state) == ["erased", "erased"], "\(cut.result.output)")
            #expect(cut.result.errors.contains("more than 2 accounts"), "\(cut.result.errors)")
            let all = try await find(["--prefix", "a", "--by", "request", "--limit", "3"], stage)
            #expect(all.rows.count == 3 && !all.result.errors.contains("more than"), "\(all.result.errors)")
        }
    }

    @Test(
        "A hostile term finds nobody, changes nothing and does not reach the terminal raw",
        arguments: [
            "' or 1=1 --", "\"; drop table auth.users; --", "%", "_", "\\", "$1", "{{}}", "\u{1B}]0;x\u{7}",
            "a\u{202E}b", "\u{9B}31m", "🏳️‍🌈\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", "--", "a\nb\tc",
            String(repeating: "x", count: 10_000), "@", "a@", "@b", "-1", "99999999999999999999",
        ]
    )
    func hostile(_ term: String) async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            // An at sign is a part of every address.
            let parts = term == "@" ? [] : [["find", "--contains"]]
            for words in [["find"], ["find", "--prefix"], ["show"]] + parts {
                let result = try await stage.run(["user"] + words + ["--", term])
                #expect([2, 3].contains(result.status), "\(words) \(term.prefix(20)): \(result.errors)")
                let harmful = (result.output + result.errors).unicodeScalars.filter { scalar in
                    (scalar.value < 0x20 && scalar != "\n") || (0x7F...0x9F).contains(scalar.value)
                        || scalar == "\u{202E}"
                }
                #expect(harmful.isEmpty, "\(words)")
            }
            #expect(try await stage.database.psql("select count(*) from auth.users") == "1")
        }
    }

    @Test("Who finds nobody is told how to look for parts, on lines that the term cannot break")
    func hint() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let none = try await stage.run(["user", "find", "u1\nerror"])
            #expect(
                none.status == 3 && none.errors.hasPrefix(#"there is no account "u1\nerror""#),
                "\(none.errors)"
            )
            #expect(
                none.errors.hasSuffix("Look for parts of it: accountctl user find --prefix TERM\n"),
                "\(none.errors)"
            )
            #expect(none.errors.split(separator: "\n").count == 2)
            let long = try await stage.run(["user", "find", String(repeating: "a", count: 100_000)])
            #expect(long.status == 3 && long.errors.count < 500, "\(long.errors.prefix(1000))")
            let start = try await stage.run(["user", "find", "u1", "--prefix", "--tsv", "id"])
            #expect(start.output == OperatorStage.id(1) + "\n" && !start.errors.contains("Look for parts"))
        }
    }

    @Test("Nobody is told to raise the limit beyond what it may be")
    func largestLimit() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1999)
            let some = try await stage.run(["user", "find", "u1", "--prefix", "--limit", "999", "--tsv", "id"])
            #expect(some.errors.contains("there are more than 999 accounts: raise --limit"), "\(some.errors)")
            let most = try await stage.run(["user", "find", "u1", "--prefix", "--limit", "1000", "--tsv", "id"])
            #expect(most.output.split(separator: "\n").count == 1000)
            #expect(
                most.errors.contains("there are more than 1000 accounts, the most that are listed"),
                "\(most.errors)"
            )
        }
    }
}
