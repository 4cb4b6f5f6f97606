import Foundation
import MailRelay
import TestSupport
import Testing

@Suite("One rule says what a relay address is", .timeLimit(.minutes(5)))
struct RelayRuleTests {
    /// Accounts in the order of their ids: what is said of each, and whether its address is one of the relay.
    private static let accounts: [(what: String, address: String, provider: String?, data: String, isRelay: Bool)] = [
        ("claimed, though not by its domain", "a@icloud.com", "apple", #"{"is_private_email": "true"}"#, true),
        ("claimed in the newer place", "b@x.test", "apple", #"{"custom_claims": {"is_private_email": true}}"#, true),
        (
            "denied, though of the domain", "c@privaterelay.appleid.com", "apple",
            #"{"custom_claims": {"is_private_email": false}}"#, false
        ),
        ("by its domain", "d@privaterelay.appleid.com", "apple", "{}", true),
        ("by the other domain", "e@private.icloud.com", "apple", "{}", true),
        ("ordinary mail at Apple", "f@icloud.com", "apple", "{}", false),
        ("by a domain of the list", "g@relay.test", "apple", "{}", true),
        ("without an identity", "h@privaterelay.appleid.com", nil, "{}", true),
        ("of another provider", "i@privaterelay.appleid.com", "google", "{}", true),
        ("a domain like it", "j@privaterelay.appleid.com.evil.test", "apple", "{}", false),
        (
            "denied in the newer place, claimed in the older", "k@x.test", "apple",
            #"{"is_private_email": "true", "custom_claims": {"is_private_email": false}}"#, false
        ),
        (
            "claimed in the newer place, denied in the older", "l@x.test", "apple",
            #"{"is_private_email": false, "custom_claims": {"is_private_email": "TRUE"}}"#, true
        ),
        (
            "a claim that says nothing", "m@privaterelay.appleid.com", "apple",
            #"{"custom_claims": {"is_private_email": "perhaps"}}"#, true
        ),
        ("a claim of null", "n@private.icloud.com", "apple", #"{"is_private_email": null}"#, true),
        ("a claim of another provider", "o@x.test", "google", #"{"is_private_email": true}"#, false),
        ("in capitals", "P@PrivateRelay.AppleID.com", "apple", "{}", true),
        ("a domain alone", "privaterelay.appleid.com", "apple", "{}", false),
        ("a dot at the end", "q@privaterelay.appleid.com.", "apple", "{}", false),
        ("two signs", "r@x.test@privaterelay.appleid.com", "apple", "{}", true),
        ("deleted softly", "s@privaterelay.appleid.com", "apple", #"{"is_private_email": true}"#, false),
        ("an older identity that is denied", "t@privaterelay.appleid.com", "apple", "{}", true),
        ("no address", "", "apple", #"{"is_private_email": true}"#, false),
        ("an empty address in the identity", "u@privaterelay.appleid.com", "apple", #"{"email": ""}"#, true),
        ("claimed with an empty address", "v@x.test", "apple", #"{"is_private_email": true, "email": ""}"#, true),
    ]

    /// The domains of the list.
    private static let domains = ["privaterelay.appleid.com", "private.icloud.com", "Relay.test"]

    private func fill(_ database: TestDatabase) async throws {
        var statements: [String] = []
        for (index, account) in Self.accounts.enumerated() {
            let id = OperatorStage.id(index + 1)
            statements.append(
                """
                insert into auth.users (instance_id, id, email, created_at)
                values ('00000000-0000-0000-0000-000000000000', '\(id)', nullif('\(account.address)', ''), now());
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                select
                    'p\(index)', '\(id)',
                    jsonb_strip_nulls(jsonb_build_object('email', nullif('\(account.address)', ''))) || '\(account.data)'::jsonb,
                    p, now()
                from (select nullif('\(account.provider ?? "")', '')) as provider (p)
                where p is not null
                """
            )
            if account.what.hasPrefix("deleted") {
                statements.append("update auth.users set deleted_at = now() where id = '\(id)'")
            }
            if account.what.hasPrefix("an older") {
                statements.append(
                    """
                    insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                    values ('older', '\(id)', '{"is_private_email": false, "email": "t@x.test"}', 'apple', now() - interval '1 day')
                    """
                )
            }
        }
        try await database.psql(statements.joined(separator: ";"))
    }

    private func fill(_ stage: OperatorStage) async throws {
        try await fill(stage.database)
        try await stage.database.psql(
            """
            insert into accountctl.settings (name, value)
            values ('mail.relay_domains', '\(String(decoding: JSONEncoder().encode(Self.domains), as: UTF8.self))');
            insert into accountctl.mail_streams (
                name, from_domain, envelope_domain, signing_domain, spf, dkim, reachable, confirmed_at
            )
            values ('news', 'x.test', 'x.test', 'x.test', 'ok', 'ok', 'yes', now());
            """
        )
    }

    private struct Row: Decodable {
        let id: String?
        let userID: String?

        enum CodingKeys: String, CodingKey {
            case id
            case userID = "user_id"
        }
    }

    private func ids(_ words: [String], _ stage: OperatorStage) async throws -> Set<String> {
        let result = try await stage.run(words + ["--format", "ndjson"])
        #expect(result.status == 0, "\(words): \(result.errors)")
        let rows = try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8))
        }
        return Set(rows.compactMap { $0.id ?? $0.userID })
    }

    private struct Shown: Decodable {
        struct Apple: Decodable {
            let usesRelay: Bool?
        }
        struct Relay: Decodable {
            let knownBy: String?
            let forwarding: String?
            let forwardingChangedAt: String?
        }
        let apple: Apple
        let relay: Relay
    }

    private func show(_ id: String, _ stage: OperatorStage) async throws -> Shown {
        let result = try await stage.run(["user", "show", id, "--json", "apple,relay"])
        #expect(result.status == 0, "\(result.errors)")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Shown.self, from: Data(result.output.utf8))
    }

    @Test("The list of accounts, the view of one and can-send agree on every account")
    func agreement() async throws {
        try await OperatorStage.with { stage in
            try await fill(stage)
            let relay = Set(
                Self.accounts.enumerated().filter(\.element.isRelay).map { OperatorStage.id($0.offset + 1) }
            )
            #expect(try await ids(["user", "list", "--relay"], stage) == relay)
            #expect(try await ids(["user", "list", "--no-relay"], stage).isDisjoint(with: relay))
            #expect(try await ids(["relay", "addresses", "--list"], stage) == relay)
            for (index, account) in Self.accounts.enumerated() {
                let id = OperatorStage.id(index + 1)
                let shown = try await show(id, stage)
                #expect((shown.relay.knownBy != nil) == account.isRelay, "\(account.what)")
                #expect(
                    shown.apple.usesRelay == (account.provider == "apple" ? account.isRelay : nil),
                    "\(account.what)"
                )
                let send = try await stage.run(["relay", "can-send", "--stream", "news", "--user", id, "--json"])
                // No mail can go to an account that is gone or has no address.
                let isPlain = ["not a relay address", "no such account", "has no address"]
                    .contains { send.output.contains($0) }
                #expect(isPlain != account.isRelay, "\(account.what): \(send.output)")
            }
        }
    }

    @Test("The program's own rule, for a database without the schema, gives the same answers")
    func withoutSchema() async throws {
        try await TestDatabase.with(.platform) { database in
            try await fill(database)
            let variables = ["ACCOUNTCTL_MAIL_RELAY_DOMAINS": Self.domains.joined(separator: ",")]
            let stage = OperatorStage(
                database: database,
                folder: FileManager.default.temporaryDirectory,
                variables: database.variables.merging(variables) { $1 }
            )
            for (index, account) in Self.accounts.enumerated() {
                let relay = try await show(OperatorStage.id(index + 1), stage).relay
                #expect((relay.knownBy != nil) == account.isRelay, "\(account.what)")
            }
        }
    }

    @Test("The SQL function for an address and the program give the same answers")
    func ofAnAddress() async throws {
        let rule = try RelayDomains(Self.domains)
        try await OperatorStage.with { stage in
            try await fill(stage)
            let addresses =
                Self.accounts.map(\.address) + [
                    "@privaterelay.appleid.com", "a@", "@", "a b@RELAY.TEST", "a@.relay.test",
                ]
            let questions = addresses.flatMap { address in
                [true, false, nil].map { (claim: Bool?) in (address: address, claim: claim) }
            }
            let values = questions.enumerated().map { number, question in
                "(\(number), '\(question.address)', \(question.claim.map { "\($0)" } ?? "null::boolean"))"
            }
            let told = try await stage.database.psql(
                """
                select coalesce(accountctl.is_relay_address(address, claim), false)
                from (values \(values.joined(separator: ", "))) as questions (number, address, claim)
                order by number
                """
            ).split(separator: "\n")
            #expect(told.count == questions.count)
            for (question, answer) in zip(questions, told) {
                let (address, claim) = question
                #expect((answer == "t") == rule.isRelay(address, appleClaim: claim), "\(address) \(claim as Bool?)")
            }
        }
    }

    @Test("The view of an account shows what Apple reported about forwarding")
    func forwarding() async throws {
        try await OperatorStage.with { stage in
            try await fill(stage)
            let id = OperatorStage.id(1)
            #expect(try await show(id, stage).relay.forwarding == "unknown")
            #expect(try await show(id, stage).relay.knownBy == "claim")
            try await stage.database.psql(
                "select accountctl.note_relay_address('\(id)', 'a@icloud.com', false, '2026-01-02T03:04:05Z')"
            )
            let off = try await show(id, stage)
            #expect(
                off.relay.forwarding == "off" && off.relay.forwardingChangedAt?.hasPrefix("2026-01-02T03:04:05") == true
            )
            let screen = try await stage.run(["user", "show", id])
            #expect(screen.output.contains("Forwarding") && screen.output.contains("off"), "\(screen.output)")
            #expect(screen.output.contains("switched forwarding off"), "it is a warning: \(screen.output)")
            #expect(try await show(OperatorStage.id(4), stage).relay.knownBy == "domain")
        }
    }
}
