import AccountLifecycle
import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import SignInWithApple
import Synchronization
import Telemetry
import TestSupport
import Testing

/// Failures at Apple that are unrelated to a code or a credential lose neither.
@Suite(.timeLimit(.minutes(5))) struct AppleAnswerTests {
    @Test func aCodeIsNotSpentWhileNoKeysCanBeHad() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            stage.sandbox.faults.set(.html(), for: .appleKeys)
            guard case .again(_, let situation) = try await stage.exchange(code, of: person) else {
                Issue.record("the code was spent")
                return
            }
            #expect(situation.code == .appleUnreachable)
            #expect(stage.sandbox.journal.count(.appleToken) == 0)
            #expect(try await stage.count("select from accountctl.authorization_codes where state = 'received'") == 1)
        }
    }

    /// A grant is kept if Apple has rotated its keys and they cannot be fetched, since it must be revocable later.
    @Test func aGrantWhoseKeyCannotBeFetchedIsKept() async throws {
        try await Stage.with { stage in
            let (anna, berta) = (try await stage.signUp(), try await stage.signUp("berta"))
            let first = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: anna.sub)
            #expect(try await stage.exchange(first, of: anna) == .settled(.exchanged))
            try stage.sandbox.apple.rotateKeys(all: true)
            stage.sandbox.faults.set(.html(), for: .appleKeys)
            let second = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: berta.sub)
            #expect(try await stage.exchange(second, of: berta) == .settled(.exchanged))
            #expect(try await stage.count("select from accountctl.apple_credentials") == 2)
            // The subject of the grant is checked all the same.
            let stolen = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: anna.sub)
            #expect(try await stage.exchange(stolen, of: berta) == .settled(.wrongAccount))
        }
    }

    /// A grant is kept if Apple signs with a new key while its key endpoint still returns the old set.
    @Test func aGrantWhoseKeyIsNotPublishedYetIsKept() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let identity = try #require(stage.apple[Stage.clientID]?.identity)
            let address = try ServiceAddress(stage.sandbox.baseURL, allowPlainHTTP: true)
            let past = Mutex(60.0)
            let apple = try AppleClients(
                [identity],
                address: address,
                caller: stage.caller,
                logger: .silent,
                now: { Date() - past.withLock(\.self) }
            )
            #expect(try await apple.hasKeys())
            let published = try await stage.caller.perform(
                HTTPCall(label: "keys", method: .get, address: address, path: "/auth/keys", repetition: .always)
            )
            guard case .reply(let keys) = published else { throw Unexpected(published) }
            try stage.sandbox.apple.rotateKeys(all: true)
            stage.sandbox.faults.set(.status(200, body: String(decoding: keys.body, as: UTF8.self)), for: .appleKeys)
            past.withLock { $0 = 0 }
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(code, of: person, by: apple) == .settled(.exchanged))
            #expect(stage.sandbox.journal.count(.appleKeys) == 3)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
        }
    }

    /// A log line identifies an unusable grant by its code, as no other line mentions the grant.
    @Test func aGrantThatCannotBeUsedIsToldByItsCode() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let body = #"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r"}"#
            stage.sandbox.faults.set(.status(200, body: body), for: .appleToken)
            let written = Mutex("")
            let logger = Logger(label: "test") { label in
                LineLogHandler(label: label, format: .json, level: .error) { line in written.withLock { $0 += line } }
            }
            #expect(try await stage.exchange(code, of: person, logger: logger) == .settled(.grantUnknown))
            let id = try await stage.lastCode()
            #expect(written.withLock { $0.contains(#""code_id":"\#(id)""#) })
        }
    }

    /// A self-test tells a faulty code from a faulty client, which Apple refuses with the same error.
    ///
    /// A self-test without an answer shows neither.
    @Test(arguments: [nil, .appleMisconfigured, .appleUnreachable] as [Situation.Code?])
    func aCodeAtFaultIsToldFromTheClientByATest(_ found: Situation.Code?) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let refusals = found == .appleMisconfigured ? 2 : 1
            stage.sandbox.faults.set(.appleError("invalid_client").times(refusals), for: .appleToken)
            if found == .appleUnreachable { stage.sandbox.faults.set(.html(status: 200), for: .appleToken) }
            switch try await stage.exchange("made-up", of: person) {
            case .settled(let state): #expect(found == nil && state == .refused)
            case .again(_, let situation): #expect(situation.code == found)
            case .handedOver, .unknown: Issue.record("neither refused nor put off")
            }
            #expect(stage.apple.isPaused(Stage.clientID) == (found == .appleMisconfigured))
        }
    }

    /// A refusal is stored before the self-test, so that a worker that dies meanwhile leaves no code in doubt.
    @Test func aRefusalIsWrittenBeforeTheClientIsTested() async throws {
        try await Stage.with { stage in
            let code = try await stage.submitCode("made-up", of: try await stage.signUp())
            let gate = FaultGate()
            stage.sandbox.faults.set(.appleError("invalid_client").times(1), for: .appleToken)
            stage.sandbox.faults.set(.hold(at: gate), for: .appleToken)
            let exchange = CodeExchange(stage.services())
            let cut = Task { try await exchange.run(code) }
            await gate.reached()
            cut.cancel()
            await #expect(throws: CancellationError.self) { try await cut.value }
            stage.sandbox.faults.clearAll()
            #expect(try await exchange.run(code) == .settled(.refused))
        }
    }

    @Test func aPageUnderStatus200RevokesNothing() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.html(status: 200), for: .appleRevoke)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .appleUnreachable)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            #expect(stage.sandbox.apple.liveConsents == 1)
            stage.sandbox.faults.clearAll()
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }
}
