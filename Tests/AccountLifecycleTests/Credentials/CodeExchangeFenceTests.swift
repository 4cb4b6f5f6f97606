import AccountLifecycle
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

/// A worker that has lost the lease on a code's job writes nothing more about the code.
@Suite(.timeLimit(.minutes(5))) struct CodeExchangeFenceTests {
    /// Apple's answer to a worker that loses its lease before the answer arrives.
    enum Answer: CaseIterable { case grant, refusal, trouble, none }

    private func code(_ id: Int64, _ stage: Stage) async throws -> String {
        try await stage.value(
            "select to_jsonb(c)::text from accountctl.authorization_codes as c where id = \(id)",
            as: String.self
        )
    }

    /// If the lease is lost after the exchange, the next worker records an unknown grant, and the app is asked for a
    /// new code.
    @Test(arguments: Answer.allCases)
    func lostBetweenTheExchangeAndTheStore(_ answer: Answer) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let genuine = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let id = try await stage.submitCode(answer == .refusal ? genuine + "x" : genuine, of: person)
            let mine = try await stage.claim("apple.exchange_code")
            switch answer {
            case .grant, .refusal: break
            case .trouble: stage.sandbox.faults.set(.appleError("invalid_client"), for: .appleToken)
            case .none: stage.sandbox.faults.set(.drop(.before), for: .appleToken)
            }
            let stolen = Counter(1)
            let services = stage.services { point in
                if point == .afterExchange, stolen.take() { _ = try await stage.claim("apple.exchange_code") }
            }
            let error = await #expect(throws: JobQueueError.self) {
                try await CodeExchange(services).run(id, fence: mine)
            }
            #expect(error?.code == .leaseLost)
            #expect(!stolen.take())
            #expect(try await stage.count("select from accountctl.apple_credentials") == 0)
            let open: Statement = """
                select from accountctl.authorization_codes where state = 'exchanging' and code is not null
                """
            #expect(try await stage.count(open) == 1)

            stage.sandbox.faults.clearAll()
            let calls = stage.sandbox.journal.count(.appleToken)
            let next = try await stage.claim("apple.exchange_code")
            #expect(try await CodeExchange(stage.services()).run(id, fence: next) == .settled(.grantUnknown))
            #expect(stage.sandbox.journal.count(.appleToken) == calls)
            let status = try await stage.call(person, "select public.request_account_deletion()")
            #expect(status.contains(#""wants_apple_code": true"#))
        }
    }

    /// A worker without the lease must not mark the code as tried, since another worker will try it.
    @Test func lostBeforeTheExchangeTheCodeIsLeftToItsOwner() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let genuine = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let id = try await stage.submitCode(genuine, of: person)
            let mine = try await stage.claim("apple.exchange_code")
            let next = try await stage.claim("apple.exchange_code")
            let before = try await code(id, stage)
            let error = await #expect(throws: JobQueueError.self) {
                try await CodeExchange(stage.services()).run(id, fence: mine)
            }
            #expect(error?.code == .leaseLost)
            #expect(try await code(id, stage) == before)
            #expect(stage.sandbox.journal.count(.appleToken) == 0)
            #expect(try await CodeExchange(stage.services()).run(id, fence: next) == .settled(.exchanged))
        }
    }
}
