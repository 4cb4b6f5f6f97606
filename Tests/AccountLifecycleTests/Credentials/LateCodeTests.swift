import AccountLifecycle
import Postgres
import Sandbox
import TestSupport
import Testing

/// Codes that an erasure meets: what it waits for, and whom it lets go on.
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

    /// It has five minutes, and a pass over a large table may have half an hour.
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

    /// A code that nobody exchanges ends by itself, without the upkeep.
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

    /// It would keep the account's row from a grant that Apple gives once.
    @Test func aCodeIsWaitedForBeforeTheDeleteIsTriedOnceMore() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let code = try await stage.submitCode(of: person)
            try await stage.refuseUntried("P0001")
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            // Whoever has to decide can still cancel.
            let begun: Statement = "select from accountctl.deletion_steps where step = 'revoke_apple'"
            #expect(try await stage.count(begun) == 0)
            try await stage.sql("drop trigger refuse on public.profiles")
            #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
        }
    }

    /// Nothing was asked of Apple yet.
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

    /// The account's row is locked by its erasure: whoever comes with a code waits, and is told that there is no
    /// account.
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
