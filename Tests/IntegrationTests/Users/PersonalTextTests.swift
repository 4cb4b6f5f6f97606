import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("What operators type into the log holds no personal data", .timeLimit(.minutes(5)))
struct PersonalTextTests {
    private static let uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"

    @Test("Addresses, phone numbers, ids at Apple and tokens are refused by the option's name, and nothing is done")
    func refused() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let texts: [(text: String, what: String)] = [
                ("asked by anna@example.com", "an e-mail address"),
                ("<mailto:Anna.K+x@mail.Example.org>", "an e-mail address"),
                ("anna@exämple.de", "an e-mail address"),
                ("called from +49 151 123 4567", "a phone number"), ("(+1) 415-555-2671", "a phone number"),
                ("https://x.test/?tel=%2B49151123456", "a phone number"), ("tel:+49.151.123456", "a phone number"),
                ("as 8D3C2A1E-5b7f-4c9d-8e21-0a9b8c7d6e5f said", "the id of an account"),
                ("https://x.test/users/8d3c2a1e5b7f4c9d8e210a9b8c7d6e5f/edit", "the id of an account"),
                ("uid-\(Self.uuid)", "the id of an account"), ("id-\(Self.uuid)", "the id of an account"),
                ("\(Self.uuid)-avatar", "the id of an account"), ("user_\(Self.uuid).png", "the id of an account"),
                ("https://x.test/?q=anna%40example.com", "an e-mail address"),
                ("abc123@privaterelay.appleid.com", "an e-mail address"),
                ("sub 001234.0123456789abcdef0123456789abcdef.0123", "an id at Apple"),
                ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl", "a token"),
                ("key sb_secret_0123456789abcdef", "a token"), ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "a token"),
                ("key: -----BEGIN PRIVATE KEY-----", "a token"),
            ]
            // One text of each kind is tried as an option; the same check sees the others.
            var kinds: Set<String> = []
            for (text, what) in texts {
                #expect(PersonalText.suspicion(in: text, as: .words) == what, "\(text)")
                guard kinds.insert(what).inserted else { continue }
                let result = try await stage.run(["user", "sign-out", id, "--reason", text])
                #expect(result.status == 2 && result.output.isEmpty, "\(text): \(result.errors)")
                #expect(
                    result.errors.contains("--reason contains what looks like \(what)"),
                    "\(text): \(result.errors)"
                )
                #expect(!result.errors.contains(text), "it is not repeated")
            }
            let tickets: [(text: String, what: String)] = [
                (Self.uuid, "the id of an account"), ("uid-\(Self.uuid)", "the id of an account"),
                ("https://desk.example.com/t/4711?user=\(Self.uuid)", "the id of an account"),
                ("https://desk.example.com/anna@example.com/4711", "an e-mail address"),
                ("4711 (+49 151 1234567)", "a phone number"), ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2", "a token"),
            ]
            for (text, what) in tickets { #expect(PersonalText.suspicion(in: text, as: .ticket) == what, "\(text)") }
            let commands = [
                ["user", "hold", id], ["user", "show", id, "--reveal"], ["deletion", "request", id, "--confirm=\(id)"],
                ["deletion", "pause", "--all"], ["jobs", "pause", "deletions"],
            ]
            for command in commands {
                let ticket = try await stage.run(command + ["--reason", "why", "--ticket", "anna@example.com"])
                #expect(
                    ticket.status == 2 && ticket.errors.contains("--ticket contains"),
                    "\(command): \(ticket.errors)"
                )
                let reason = try await stage.run(command + ["--reason", "anna@example.com"])
                #expect(
                    reason.status == 2 && reason.errors.contains("--reason contains"),
                    "\(command): \(reason.errors)"
                )
            }
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    @Test("An operator's name is checked, too, wherever it comes from, since it is kept for good")
    func operatorNames() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.database.psql("update auth.users set phone = '4512345678' where id = '\(id)'")
            for words in [
                ["user", "sign-out", id], ["user", "hold", id, "--reason", "court"], ["deletion", "pause", "--all"],
                ["jobs", "pause", "deletions", "--yes"],
                ["deletion", "accept", "a.b.c", "--reason", "x", "--confirm=a.b.c"],
            ] {
                let given = try await stage.run(words + ["--as", "Olga <olga@example.com>"])
                #expect(given.status == 2 && given.output.isEmpty, "\(words): \(given)")
                #expect(given.errors.contains("--as contains what looks like an e-mail address"), "\(given.errors)")
                let variables = stage.variables.merging(["ACCOUNTCTL_OPERATOR": "olga@example.com"]) { $1 }
                let set = try await AccountctlProcess(words, environment: variables).result()
                #expect(set.status == 2 && set.output.isEmpty, "\(words): \(set)")
                #expect(
                    set.errors.contains("ACCOUNTCTL_OPERATOR contains what looks like an e-mail address"),
                    "\(set.errors)"
                )
                #expect(!(given.errors + set.errors).contains("olga@"), "it is not repeated")
            }
            let own = try await stage.run(["user", "sign-out", id, "--as", "phone 4512345678"])
            #expect(own.status == 2 && own.errors.contains("contains a phone number of the account"), "\(own)")
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
            // On a machine whose logins are addresses, the part before the at sign names the person.
            var variables = stage.variables.merging(["USER": "olga@corp.example.com"]) { $1 }
            variables["ACCOUNTCTL_OPERATOR"] = nil
            let named = try await AccountctlProcess(["user", "sign-out", id], environment: variables).result()
            #expect(named.status == 0, "\(named)")
            #expect(try await stage.database.psql("select operator from accountctl.operator_log") == "olga")
        }
    }

    @Test("Numbers, dates, ids and names that operators do write are accepted")
    func taken() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let reasons = [
                "ticket 4711", "asked on 2026-01-02 at 12:30", "01.02.2026 12:30, second call", "case 2026/000123-7",
                "see https://desk.example.com/t/4711?view=all#c2",
                "Art. 17(1)(b) GDPR", "1,234,567 rows in 3 tables", "@oncall said so", "user@", "commit 3f2a1b9c",
                "über 20 % weniger", "100000000", "v2026.01.02-rc1", "order 20260102-000123", "order 20261122001",
                "case 47110012345 closed", "invoice 2026-00012345678", "tickets 04711 04712", "01.11.-15.11.2026",
                "tool@1.2.3", "+3 %, then +1234567", "https://medium.example.com/@desk.team/notes",
            ]
            let tickets = [
                "4711", "INC0012345", "1234567890", "OPS-77", "#123456789012", "0f8fad5bd9cb469fa16570867728950e",
                "4711+4712", "pi_3MtwBwLkdIwHu7ix28a3tqPaXyZ09Qq1",
                "https://docs.example.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit?usp=sharing#gid=0",
                "https://www.notion.example.com/team/Case-4711-0f8fad5bd9cb469fa16570867728950e?pvs=4",
                "https://desk.example.com/tickets/\(Self.uuid)/+4915112345678",
            ]
            for reason in reasons { #expect(PersonalText.suspicion(in: reason, as: .words) == nil, "\(reason)") }
            for ticket in tickets { #expect(PersonalText.suspicion(in: ticket, as: .ticket) == nil, "\(ticket)") }
            for (reason, ticket) in zip(reasons, tickets).suffix(2) {
                let result = try await stage.run(["user", "sign-out", id, "--reason", reason, "--ticket", ticket])
                #expect(result.status == 0, "\(reason), \(ticket): \(result.errors)")
            }
        }
    }

    @Test("Data of the account is refused anywhere in a text, and the same text is accepted for another account")
    func own() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (id, other) = (OperatorStage.id(1), OperatorStage.id(2))
            try await stage.database.psql(
                """
                update auth.users set phone = '4512345678' where id = '\(id)';
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values ('109876543210987654321', '\(id)', '{"email": "anna@localhost"}', 'google', now())
                """
            )
            let bare = id.filter { $0 != "-" }
            let texts: [(option: String, text: String, what: String)] = [
                ("--reason", "call 4512345678", "a phone number of the account"),
                ("--reason", "https://wa.me/4512345678", "a phone number of the account"),
                ("--reason", "sub 109876543210987654321", "an id that the account has at a provider"),
                ("--reason", "anna@localhost", "an e-mail address of the account"),
                ("--ticket", bare, "the id of the account"),
                ("--ticket", "https://desk.example.com/users/\(id)/edit", "the id of the account"),
                ("--ticket", "4512345678", "a phone number of the account"),
            ]
            for (option, text, what) in texts {
                let commands = [
                    ["user", "sign-out", id], ["user", "show", id, "--reveal"],
                    ["deletion", "request", id, "--confirm=\(id)"],
                ]
                for command in commands {
                    let result = try await stage.run(command + [option, text])
                    #expect(result.status == 2 && result.output.isEmpty, "\(command) \(text): \(result.output)")
                    #expect(result.errors.contains("\(option) contains \(what):"), "\(text): \(result.errors)")
                }
            }
            let left =
                "select (select count(*) from accountctl.operator_log) + count(*) from accountctl.deletion_requests"
            #expect(try await stage.database.psql(left) == "0")
            for text in ["call 4512345678", "call 14512345678", "sub 109876543210987654321"] {
                let result = try await stage.run(["user", "sign-out", other, "--reason", text])
                #expect(result.status == 0, "\(text): \(result.errors)")
            }
        }
    }
}
