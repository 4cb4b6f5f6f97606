import AccountLifecycle
import Postgres
import Sandbox
import Testing

/// Code exchanges whose answer from Apple arrives late or never.
@Suite(.timeLimit(.minutes(5))) struct LateAnswerTests {
    @Test(arguments: [false, true])
    func anUnknownGrantAfterRevokingIsTold(_ heldBefore: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            if heldBefore { try await stage.holdCredential(of: person) }
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                let code = try await stage.submitCode(of: person)
                let fault = stage.sandbox.faults.set(.drop(.before), for: .appleToken)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.grantUnknown))
                stage.sandbox.faults.clear(fault)
            }
            #expect(pause == .ended(.verified))
            // An earlier revocation did not cover this grant.
            #expect(try await stage.appleTold(request) == ["grant_unknown", "grant_unknown", "grant_unknown"])
        }
    }

    @Test func anExchangeThatIsAnsweredAfterItsCodeExpiredIsWaitedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await stage.submitCode(of: person)
            let request = try await stage.request(person)
            let outcome = try await stage.exchange(code) {
                try await stage.expire(code, triedBefore: "5 seconds")
                try await DeletionUpkeep.run(with: stage.services())
                guard case .until = try await stage.drive(request) else {
                    Issue.record("did not wait for the answer")
                    return
                }
                #expect(try await stage.situation(request)?.code == .codeUnderWay)
            }
            #expect(outcome == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// A grant that was given up as unknown is handed over if its answer still arrives, before or after the receipt.
    @Test(arguments: [DeletionPoint.after(.deleteRows), .after(.receipt)])
    func anAnswerThatComesToAnErasedAccountIsHandedOver(_ until: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await stage.submitCode(of: person)
            let request = try await stage.request(person)
            let outcome = try await stage.exchange(code) {
                try await stage.expire(code, triedBefore: "1 hour")
                try await stage.driveToCrash(request, SimulatedCrash.once(at: until))
                #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
                #expect(try await stage.count("select from auth.users where id = \(person.id)") == 0)
            }
            #expect(outcome == .handedOver)
            #expect(try await stage.drive(request) == .ended(.verified))
            let receipt = until == .after(.receipt) ? "grant_unknown" : "pending"
            #expect(try await stage.appleTold(request) == ["pending", "pending", receipt])
            #expect(try await stage.traces(of: person) == "")
            #expect(try await stage.retryRevocations() == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await stage.appleTold(request)[0] == "revoked")
        }
    }

    /// Revoking the grant of a late answer does not settle other grants, which stay unknown.
    @Test(arguments: [true, false])
    func anAnswerThatComesLateTellsNothingOfWhatElseIsUnknown(_ hasVanished: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            if hasVanished {
                try await stage.holdCredential(of: person)
            } else {
                try await stage.add(.unknown, of: person, clientID: "com.example.other")
            }
            let code = try await stage.submitCode(of: person)
            let request = try await stage.request(person)
            let outcome = try await stage.exchange(code) {
                if hasVanished {
                    try await stage.sql("delete from auth.users where id = \(person.id)")
                } else {
                    try await stage.expire(code, triedBefore: "1 hour")
                }
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await stage.appleTold(request)[0] == "grant_unknown")
            }
            #expect(outcome == .handedOver)
            #expect(try await stage.appleTold(request)[0] == "pending")
            #expect(try await stage.retryRevocations() == 0)
            #expect(try await stage.appleTold(request)[0] == "grant_unknown")
        }
    }

    /// A late answer settles its own grant alone, and not one that became unknown after the revocation step.
    @Test func anAnswerThatComesLateTellsNothingOfWhatBecameUnknownAfterRevoking() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await stage.submitCode(of: person)
            let request = try await stage.request(person)
            let outcome = try await stage.exchange(code) {
                try await stage.expire(code, triedBefore: "1 hour")
                let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                    try await stage.add(.unknown, of: person, clientID: "com.example.other")
                }
                #expect(pause == .ended(.verified))
                #expect(try await stage.appleTold(request)[0] == "grant_unknown")
            }
            #expect(outcome == .handedOver)
            #expect(try await stage.retryRevocations() == 0)
            #expect(try await stage.appleTold(request)[0] == "grant_unknown")
        }
    }
}
