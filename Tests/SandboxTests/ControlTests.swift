import Foundation
import Sandbox
import Testing

/// The sandbox's own requests, which scripts use.
@Suite struct ControlTests {
    @Test func faultsAreSetAndClearedByName() async throws {
        try await Sandbox.with { sandbox async throws in
            let control = sandbox.baseURL + "/control"
            let set = try await Answer.json(
                .post,
                control + "/faults",
                #"{"kind":"apple-error","code":"invalid_client","endpoint":"apple.token"}"#
            )
            #expect(set.status == 201)
            let id = try #require(set.object["id"] as? Int)
            let caller = AppleCaller(sandbox: sandbox)
            #expect(try await caller.exchange("bogus")["error"] == "invalid_client")
            #expect(try await Answer.to(.delete, control + "/faults/\(id)").status == 204)
            #expect(try await Answer.to(.delete, control + "/faults/\(id)").status == 404)
            #expect(try await caller.exchange("bogus")["error"] == "invalid_grant")
            let journal = try await Answer.to(.get, control + "/requests")
            #expect(journal.array.map { $0["endpoint"] as? String } == ["apple.token", "apple.token"])
            #expect(try await Answer.to(.delete, control + "/requests").status == 204)
            #expect(sandbox.journal.entries.isEmpty)
        }
    }

    @Test(arguments: [
        #"{"kind":"status","status":500}"#, #"{"kind":"html"}"#, #"{"kind":"empty"}"#, #"{"kind":"malformed"}"#,
        #"{"kind":"truncated"}"#, #"{"kind":"drop","effect":"before"}"#, #"{"kind":"delay","delay_seconds":0.1}"#,
        #"{"kind":"hold"}"#, #"{"kind":"throttle","requests":1,"per_seconds":1}"#, #"{"kind":"storage-error"}"#,
        #"{"kind":"empty-success","times":1,"sparing":1}"#, #"{"kind":"pretended-success","subject":"avatars"}"#,
    ])
    func everyKindOfFaultIsUnderstood(_ body: String) async throws {
        try await Sandbox.with { sandbox async throws in
            #expect(try await Answer.json(.post, sandbox.baseURL + "/control/faults", body).status == 201)
        }
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        try await Sandbox.with { sandbox async throws in
            var configuration = SandboxConfiguration()
            configuration.port = sandbox.port
            await #expect(throws: (any Error).self) {
                try await Sandbox.with(configuration) { _ in Issue.record("two servers on one port") }
            }
        }
    }

    @Test func mistakesAreToldInWords() async throws {
        try await Sandbox.with { sandbox async throws in
            let url = sandbox.baseURL + "/control/faults"
            let lacking = try await Answer.json(.post, url, #"{"kind":"status"}"#)
            #expect(lacking.status == 400)
            #expect(lacking["problem"]?.contains("needs status") == true)
            #expect(try await Answer.json(.post, url, #"{"kind":"nonsense"}"#).status == 400)
            let copies = try await Answer.json(
                .post,
                sandbox.baseURL + "/control/apple/notifications",
                #"{"type":"consent-revoked","sub":"1","audience":"com.example.app","copies":-1,"url":"\#(url)"}"#
            )
            #expect(copies.status == 400 && copies["problem"] == "copies must not be negative")
            #expect(try await Answer.to(.get, sandbox.baseURL + "/control/nonsense").status == 404)
            #expect(try await Answer.to(.get, sandbox.baseURL + "/auth/token").status == 405)
            #expect(try await Answer.to(.get, sandbox.baseURL + "/nonsense").status == 404)
        }
    }

    @Test(
        "A number that is out of range is refused and does not end the sandbox",
        arguments: [
            ("faults", #"{"kind":"delay","delay_seconds":1e30}"#),
            ("faults", #"{"kind":"throttle","requests":1,"per_seconds":1e30}"#),
            ("faults", #"{"kind":"drop","times":-1}"#), ("faults", #"{"kind":"status","status":-5}"#),
            ("faults", #"{"kind":"empty","status":1000}"#), ("faults", #"{"kind":"html","status":199}"#),
            ("clock", #"{"advance_seconds":-1e30}"#),
            ("storage/access-tokens", #"{"user_id":"a","lifetime_seconds":9223372036854775807}"#),
            (
                "apple/notifications",
                #"{"type":"consent-revoked","sub":"a","audience":"b","age_seconds":1e30,"url":"http://127.0.0.1:1/"}"#
            ),
            (
                "apple/notifications",
                #"{"type":"consent-revoked","sub":"a","audience":"b","copies":-1,"url":"http://127.0.0.1:1/"}"#
            ),
        ]
    )
    func numbersOutOfRange(_ path: String, _ body: String) async throws {
        try await Sandbox.with { sandbox async throws in
            #expect(try await Answer.json(.post, sandbox.baseURL + "/control/" + path, body).status == 400)
            #expect(try await Answer.to(.get, sandbox.baseURL + "/control/health").status == 200)
        }
    }

    @Test(
        "A change to a client or a person that Apple does not know is refused",
        arguments: [
            ("transfers", #"{"client_id":"com.example.nobody","team_id":"NEWTEAM123"}"#),
            ("transfers", #"{"client_id":"com.example.app"}"#),
            ("change-password", #"{"client_id":"com.example.nobody","sub":"a"}"#),
            ("change-password", #"{"client_id":"com.example.app","sub":"a"}"#),
        ]
    )
    func nothingToChange(_ path: String, _ body: String) async throws {
        try await Sandbox.with { sandbox async throws in
            let answer = try await Answer.json(.post, sandbox.baseURL + "/control/apple/" + path, body)
            #expect(answer.status == 404 && answer["problem"] == "nothing to change")
        }
    }

    @Test func clientsSignInsAndTheClock() async throws {
        try await Sandbox.with { sandbox async throws in
            let control = sandbox.baseURL + "/control"
            let made = try await Answer.json(
                .post,
                control + "/apple/clients",
                #"{"client_id":"com.example.new","team_id":"ABCDEFGHIJ"}"#
            )
            let key = DeveloperKey(
                teamID: try #require(made["teamID"]),
                keyID: try #require(made["keyID"]),
                privateKey: try #require(made["privateKey"])
            )
            let signIn = try await Answer.json(
                .post,
                control + "/apple/sign-ins",
                #"{"client_id":"com.example.new","hides_email":true,"email":"a@privaterelay.appleid.com"}"#
            )
            #expect(signIn["email"] == "a@privaterelay.appleid.com")
            let caller = AppleCaller(sandbox: sandbox, clientID: "com.example.new")
            let code = try #require(signIn["authorizationCode"])
            let answer = try await caller.exchange(code, ["client_secret": caller.secret(key: key)])
            #expect(answer.status == 200)
            #expect(try await Answer.to(.get, control + "/apple/consents").object["live"] as? Int == 1)
            let person = #"{"client_id":"com.example.new","sub":"\#(try #require(signIn["sub"]))"}"#
            #expect(try await Answer.json(.post, control + "/apple/stop-using", person).status == 204)
            #expect(try await Answer.json(.post, control + "/apple/stop-using", person).status == 404)
            #expect(try await Answer.json(.post, control + "/clock", #"{"advance_seconds":600}"#).status == 204)
            #expect(sandbox.clock.now.timeIntervalSinceNow > 590)
            #expect(
                try await Answer.json(
                    .post,
                    control + "/apple/transfers",
                    #"{"client_id":"com.example.app","team_id":"NEWTEAM123"}"#
                )["teamID"] == "NEWTEAM123"
            )
            let before = sandbox.apple.publishedKeyIDs
            #expect(try await Answer.to(.post, control + "/apple/rotate-keys").status == 204)
            #expect(sandbox.apple.publishedKeyIDs != before)
        }
    }
}
