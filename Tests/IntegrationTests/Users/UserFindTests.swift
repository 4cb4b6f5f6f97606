import Foundation
import TestSupport
import Testing

@Suite("Finding accounts through the program", .timeLimit(.minutes(5)))
struct UserFindTests {
    @Test("Every kind of term, in every spelling, leads to the account, and says what matched")
    func kinds() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            let terms: [(words: [String], id: String, matched: String)] = [
                ([UserFindPeople.anna.uppercased()], UserFindPeople.anna, "id"),
                (["{\(UserFindPeople.anna)}"], UserFindPeople.anna, "id"),
                (["urn:uuid:\(UserFindPeople.anna)"], UserFindPeople.anna, "id"),
                ([UserFindPeople.anna.replacingOccurrences(of: "-", with: "")], UserFindPeople.anna, "id"),
                (["ABC123@PrivateRelay.AppleID.com"], UserFindPeople.hidden, "email"),
                (["mailto:digits@EXAMPLE.com"], UserFindPeople.digits, "email"),
                (["Di Gits <digits@example.com>"], UserFindPeople.digits, "email"),
                (["+49 (151) 123-4567"], UserFindPeople.anna, "phone"),
                (["0049 151 1234567"], UserFindPeople.anna, "phone"),
                (["49.151.1234567", "--by", "phone"], UserFindPeople.anna, "phone"),
                ([UserFindPeople.sub], UserFindPeople.hidden, "apple-sub"),
                ([UserFindPeople.sub, "--by", "apple-sub"], UserFindPeople.hidden, "apple-sub"),
                (["g-77"], UserFindPeople.digits, "provider-id"),
                (["g-77", "--by", "provider-id"], UserFindPeople.digits, "provider-id"),
                (["anna_k"], UserFindPeople.anna, "username"),
                ([UserFindPeople.request.uppercased()], UserFindPeople.anna, "request"),
                ([UserFindPeople.request, "--by", "request"], UserFindPeople.anna, "request"),
            ]
            for (words, id, matched) in terms {
                let (rows, result) = try await stage.find(words)
                #expect(result.status == 0, "\(words): \(result.errors)")
                #expect(rows.map(\.id) == [id] && rows.first?.matched == [matched], "\(words): \(result.output)")
            }
            // A term is not found if --by names another kind than its own.
            for words in [
                [UserFindPeople.anna, "--by", "request"], [UserFindPeople.request, "--by", "id"],
                [UserFindPeople.sub, "--by", "provider-id"],
                ["g-77", "--by", "apple-sub"], ["anna_k", "--by", "provider-id"], ["4242424", "--by", "receipt"],
            ] {
                let (rows, result) = try await stage.find(words)
                #expect(result.status == 3 && rows.map(\.state) == ["not_found"], "\(words): \(result.output)")
            }
            for words in [["anna_k", "--by", "email"], ["anna_k", "--by", "id"], ["x", "--by", "phone"]] {
                let result = try await stage.find(words).result
                #expect(result.status == 2 && result.output.isEmpty, "\(words)")
                #expect(result.errors.contains("cannot be of the kind \(words[2])"), "\(result.errors)")
            }
        }
    }

    @Test("No claim is made about a possible phone number, and half an address gets the search that finds it")
    func unsworn() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
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

    @Test("A term that may mean several things or several people finds all of them")
    func ambiguous() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            let (rows, result) = try await stage.find(["4242424"])
            #expect(result.status == 0)
            let matched = Dictionary(uniqueKeysWithValues: rows.map { ($0.id ?? "", $0.matched) })
            #expect(
                matched == [UserFindPeople.digits: ["phone"], UserFindPeople.enterprise: ["provider-id", "username"]]
            )
            let by = try await stage.find(["4242424", "--by", "username"]).rows
            #expect(by.map(\.id) == [UserFindPeople.enterprise])
            #expect(
                Set(try await stage.find(["ANNA@example.com"]).rows.map(\.id)) == [
                    UserFindPeople.anna, UserFindPeople.enterprise,
                ]
            )
            // A command acts on none of several accounts.
            for words in [["show"], ["sign-out"], ["suspend", "--reason", "x", "--yes"], ["watch"]] {
                let refused = try await stage.run(["user", words[0], "4242424"] + words.dropFirst())
                #expect(refused.status == 2 && refused.output.isEmpty, "\(words)")
                #expect(refused.errors.contains("names 2 accounts") && refused.errors.contains(UserFindPeople.digits))
            }
            let acted = "select count(*) from accountctl.operator_log"
            #expect(try await stage.database.psql(acted) == "0")
        }
    }

    @Test("Several terms and the lines of standard input give a row each, even if no such account ever existed")
    func lists() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            let never = UUID().uuidString.lowercased()
            let input = "\u{FEFF}anna_k\r\n\n   \nnobody@example.com\n\(never)\n"
            let (rows, result) = try await stage.find(["g-77", "-"], input: input)
            #expect(result.status == 3)
            #expect(rows.map(\.id) == [UserFindPeople.digits, UserFindPeople.anna, nil, nil], "\(result.output)")
            #expect(rows.map(\.state) == ["active", "deletion_running", "not_found", "not_found"])
            // The number of the word, and then of each line.
            #expect(rows.map(\.number) == [1, 2, 5, 6])
            #expect(result.errors.contains("\"nobody@example.com\"") && result.errors.contains("and none was erased"))
            let json = try await stage.run(["user", "find", never, "nobody", "--json", "id,state"])
            #expect(json.output == #"[\#n{"id":null,"state":"not_found"},\#n{"id":null,"state":"not_found"}\#n]\#n"#)
            // Without the key it is unknown whether the account was erased, and nothing says that it was not.
            let without = stage.variables.filter { $0.key != "ACCOUNTCTL_KEYS_HASH_FILE" }
            let blind = try await AccountctlProcess(["user", "find", never, "--json", "state"], environment: without)
                .result()
            #expect(blind.status == 3 && blind.output.contains(#""unknown""#), "\(blind.output)")
            #expect(blind.errors.contains("cannot be told without keys.hash_file"))
            let bad = try await stage.find(["-", "--by", "email"], input: "a@example.com\nanna\n")
            #expect(bad.result.status == 2 && bad.result.output.isEmpty)
            #expect(bad.result.errors.contains("line 2: \"anna\" cannot be of the kind email"), "\(bad.result.errors)")
            let none = try await stage.find(["-"], input: "\n")
            #expect(none.result.status == 0 && none.rows.isEmpty)
        }
    }

    @Test("A table of profiles that the app uses for something other than accounts is left alone")
    func otherProfiles() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            for columns in ["id bigint, username text unique", "id uuid, username integer unique"] {
                try await stage.database.psql(
                    "drop table public.profiles cascade; create table public.profiles (\(columns))"
                )
                for words in [["g-77"], ["--prefix", "g-77"], ["--contains", "digits"]] {
                    let (rows, result) = try await stage.find(words)
                    #expect(
                        result.status == 0 && rows.map(\.id) == [UserFindPeople.digits],
                        "\(columns) \(words): \(result.errors)"
                    )
                }
            }
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
        try await OperatorStage.with(accounts: 1) { stage in
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

    @Test("A search that finds nobody says how to look for parts, on lines that the term cannot break")
    func hint() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
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
            for (address, isHidden) in [("anna@icloud.com", true), ("a1b2@privaterelay.appleid.com", false)] {
                let unknown = try await stage.run(["user", "find", address]).errors
                #expect(unknown.contains("is found by the relay address") == isHidden, "\(unknown)")
            }
            // An address of a relay that only the settings know hides nobody either.
            for command in ["find", "show"] {
                let unknown = try await AccountctlProcess(
                    ["user", command, "a1b2@relay.example.com"],
                    environment: stage.variables.merging(["ACCOUNTCTL_MAIL_RELAY_DOMAINS": "relay.example.com"]) { $1 }
                ).result()
                #expect(unknown.status == 3 && !unknown.errors.contains("the relay address"), "\(unknown)")
            }
            let long = try await stage.run(["user", "find", String(repeating: "a", count: 100_000)])
            #expect(long.status == 3 && long.errors.count < 500, "\(long.errors.prefix(1000))")
            let start = try await stage.run(["user", "find", "u1", "--prefix", "--tsv", "id"])
            #expect(start.output == OperatorStage.id(1) + "\n" && !start.errors.contains("Look for parts"))
        }
    }

    @Test("A cut list advises a higher limit only up to the largest one")
    func largestLimit() async throws {
        try await OperatorStage.with(accounts: 1999) { stage in
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
