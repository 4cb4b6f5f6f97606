import AccountLifecycle
import Postgres
import Sandbox
import TestSupport
import Testing

/// Codes that arrive during an erasure: which ones it waits for, and which requests may go on.
@Suite(.timeLimit(.minutes(5))) struct LateCodeTests {
    @Test func aCodeThatIsNotExchangedYetIsWaitedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                _ = try await stage.submitCode(of: person)
            }
            guard case .until = pause else {
                Issue.record("did not wait: \(pause)")
                return
            }
            #expect(try await stage.state(request) == "running")
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            let code = try await stage.lastCode()
            #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// A code is exchanged even if erasures hold every connection of the shared pool.
    ///
    /// A code expires after five minutes, and a pass over a large table may take half an hour.
    @Test func aCodeIsExchangedWhileErasuresHoldEveryConnection() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await stage.submitCode(of: person)
            try await stage.pool.withConnection { _ in
                try await stage.pool.withConnection { _ in
                    try await stage.pool.withConnection { _ in
                        let outcome = try await CodeExchange(stage.services(codes: stage.admin)).run(code)
                        #expect(outcome == .settled(.exchanged))
                    }
                }
            }
        }
    }

    /// A code that expires unused does not delay the erasure, even if the upkeep has not run.
    @Test func aCodeThatExpiresUnusedHoldsNobodyUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                let code = try await stage.submitCode(of: person)
                try await stage.expire(code, triedBefore: "0")
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["not_held", "not_held", "not_held"])
        }
    }

    /// A code is waited for before the delete is tried once more.
    ///
    /// The trial would lock the account's row, and the exchange could not store a grant that Apple issues only once.
    @Test func aCodeIsWaitedForBeforeTheDeleteIsTriedOnceMore() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let code = try await stage.submitCode(of: person)
            try await stage.refuseUntried("P0001")
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            // The step at Apple has not begun, so an operator can still cancel.
            let begun: Statement = "select from accountctl.deletion_steps where step = 'revoke_apple'"
            #expect(try await stage.count(begun) == 0)
            try await stage.sql("drop trigger refuse on public.profiles")
            #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
        }
    }

    /// A request that waits for a code before the revocation can be cancelled, since Apple has not been called yet.
    @Test func whoeverWaitsForACodeBeforeRevokingCanBeCancelled() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            _ = try await stage.submitCode(of: person)
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            let act = try await stage.pool.withConnection { connection in
                try await stage.desk.cancel(request, reason: "mistake", on: connection)
            }
            #expect(act == .done)
        }
    }

    /// A code that is submitted while the erasure locks the account's row waits, and is then refused: the account is
    /// gone.
    @Test func aCodeThatWaitsForTheErasureIsRefused() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let late = try await stage.admin.withTransaction { connection in
                try connection.execute("delete from auth.users where id = \(person.id)")
                let late = Task {
                    await sqlState {
                        try await stage.call(person, "select public.submit_apple_authorization_code('late')")
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return late
            }
            #expect(await late.value == "PT410")
        }
    }
}
