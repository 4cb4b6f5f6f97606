import Foundation
import TestSupport
import Testing

@Suite("What operators type into the log holds no personal data")
struct PersonalTextTests {
    @Test("Addresses, phone numbers, ids at Apple and tokens are refused by the option's name, and nothing is done")
    func refused() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            let texts: [(text: String, what: String)] = [
                ("asked by anna@example.com", "an e-mail address"),
                ("<mailto:Anna.K+x@mail.Example.org>", "an e-mail address"),
                ("anna@exämple.de", "an e-mail address"),
                ("called from +49 151 123 4567", "a phone number"), ("(+1) 415-555-2671", "a phone number"),
                ("0049151123456", "a phone number"), ("tel. 0151/1234567", "a phone number"),
                ("call 415-555-2671", "a phone number"),
                ("as 8D3C2A1E-5b7f-4c9d-8e21-0a9b8c7d6e5f said", "the id of an account"),
                ("https://x.test/users/8d3c2a1e5b7f4c9d8e210a9b8c7d6e5f/edit", "the id of an account"),
                ("https://x.test/?q=anna%40example.com", "an e-mail address"),
                ("sub 001234.0123456789abcdef0123456789abcdef.0123", "an id at Apple"),
                ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl", "a token"),
                ("key sb_secret_0123456789abcdef", "a token"), ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "a token"),
                ("Bearer 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "a token"),
                ("key: -----BEGIN PRIVATE KEY-----", "a token"),
            ]
            for (text, what) in texts {
                let result = try await stage.run(["user", "sign-out", id, "--reason", text])
                #expect(result.status == 2 && result.output.isEmpty, "\(text): \(result.errors)")
                #expect(result.errors.contains("--reason holds what looks like \(what)"), "\(text): \(result.errors)")
                #expect(!result.errors.contains(text), "it is not repeated")
            }
            let commands = [
                ["user", "hold", id], ["user", "show", id, "--reveal"], ["deletion", "request", id, "--confirm=\(id)"],
                ["deletion", "pause", "--all"], ["jobs", "pause", "deletions"],
            ]
            for command in commands {
                let ticket = try await stage.run(command + ["--reason", "why", "--ticket", "anna@example.com"])
                #expect(ticket.status == 2 && ticket.errors.contains("--ticket holds"), "\(command): \(ticket.errors)")
                let reason = try await stage.run(command + ["--reason", "anna@example.com"])
                #expect(reason.status == 2 && reason.errors.contains("--reason holds"), "\(command): \(reason.errors)")
            }
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    @Test("Numbers, dates, ids and names that operators do write are taken")
    func taken() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            let reasons = [
                "ticket 4711", "asked on 2026-01-02 at 12:30", "01.02.2026 12:30, second call", "case 2026/000123-7",
                "see https://desk.example.com/t/4711?view=all#c2",
                "Art. 17(1)(b) GDPR", "1,234,567 rows in 3 tables", "@oncall said so", "user@", "commit 3f2a1b9c",
                "über 20 % weniger", "100000000", "v2026.01.02-rc1", "order 20260102-000123",
            ]
            for reason in reasons {
                let result = try await stage.run(["user", "sign-out", id, "--reason", reason])
                #expect(result.status == 0, "\(reason): \(result.errors)")
            }
            for ticket in [
                "4711", "INC0012345", "1234567890", "OPS-77", "#123456789012", "0f8fad5bd9cb469fa16570867728950e",
            ] {
                let result = try await stage.run(["user", "sign-out", id, "--ticket", ticket])
                #expect(result.status == 0, "\(ticket): \(result.errors)")
            }
        }
    }
}
