import AccountLifecycle
import Foundation
import JobQueue
import Postgres
import Sandbox
import Sealing
import Synchronization
import TestSupport
import Testing

/// Deletion while Apple is unreachable, after an answer was lost, and without a key.
@Suite(.timeLimit(.minutes(5))) struct AppleFaultTests {
    @Test func onlyWhoHoldsACredentialWaitsForAppleAndNotForEver() async throws {
        try await Stage.with { stage in
            let holder = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            for fault in [Fault.appleError("invalid_client"), .html(), .drop(), .status(503)] {
                let id = stage.sandbox.faults.set(fault, for: .appleToken)
                let request = try await stage.request(holder)
                try await stage.drive(request)
                #expect(try await stage.state(request) == "waiting_for_apple", "with \(fault)")
                let code = try await stage.situation(request)?.code
                #expect(code == .appleMisconfigured || code == .appleUnreachable)
                #expect(try await stage.count("select from auth.sessions where user_id = \(holder.id)") == 1)
                stage.sandbox.faults.clear(id)
            }
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client"), for: endpoint)
            }
            let unaffected = try await stage.erase(other)
            #expect(try await stage.outcome(.revokeApple, unaffected) == "not_held")
            // After a week the run continues, and the credential is kept for a later revocation, apart from the
            // account.
            let request = try await stage.request(holder)
            try await stage.sql(
                "update accountctl.deletion_requests set apple_waiting_since = now() - interval '8 days'"
            )
            try await stage.driveThroughFailures(request)
            #expect(try await stage.state(request) == "verified")
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
            #expect(try await stage.traces(of: holder) == "")
            #expect(try await stage.count("select from accountctl.pending_revocations where state = 'waiting'") == 1)
            stage.sandbox.faults.clearAll()
            // The circuit breaker closes after a self-test, which the next preflight would run.
            try await stage.testApple()
            try await stage.sql("update accountctl.pending_revocations set last_tried_at = null")
            let stillWaiting = try await stage.retryRevocations()
            #expect(stillWaiting == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
            let outcome = try await stage.value(
                "select apple_outcome from accountctl.deletion_requests where id = \(request)",
                as: String.self
            )
            #expect(outcome == "revoked")
        }
    }

    /// A grant of the team that the app left, which Apple does not know under the new team's key, is given up at once,
    /// also where Apple answers as for a dead token, that it is revoked: the person's authorization of the app goes on.
    ///
    /// One that the person gave to the new team since may still be valid, and is kept.
    @Test(arguments: [true, false], [nil, "invalid_grant", "invalid_request"])
    func nobodyWaitsForAGrantOfTheFormerTeam(_ isFormer: Bool, _ refusal: String?) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            if isFormer { try await stage.makeTokensFormer() }
            if let refusal { stage.sandbox.faults.set(.appleError(refusal), for: .appleRevoke) }
            let request = try await stage.request(person)
            guard isFormer || refusal == nil else {
                let situation = try await stage.drive(request).failure
                #expect(situation.code == .appleMisconfigured)
                #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
                return
            }
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == (isFormer ? "not_revoked" : "revoked"))
            #expect(try await stage.count("select from accountctl.pending_revocations") == 0)
        }
    }

    /// The worker has the new team's key by the time of the deletion.
    @Test func aGrantIsOfTheTeamWithWhoseKeyItWasObtained() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let services = stage.services(apple: try stage.clientsAfterMove())
            let request = try await stage.request(person)
            #expect(try await DeletionDriver(services).drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
            #expect(try await stage.count("select from accountctl.pending_revocations") == 0)
        }
    }

    /// A new outage of Apple starts a new waiting period.
    ///
    /// Here Apple recovered, and then another failure blocked the request for longer than the waiting period.
    @Test func anOutageHasThePatienceOfItsOwn() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            stage.sandbox.faults.set(.status(503), for: .appleToken)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "waiting_for_apple")
            stage.sandbox.faults.clearAll()
            try await stage.refuseUntried("P0001")
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            try await stage.sql("drop trigger refuse on public.profiles")
            try await stage.sql(
                "update accountctl.deletion_requests set apple_waiting_since = apple_waiting_since - interval '8 days'"
            )
            stage.sandbox.faults.set(.status(503), for: .appleToken)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "waiting_for_apple")
        }
    }

    @Test func anOperatorMayProceedWithoutApple() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client"), for: endpoint)
            }
            try await stage.drive(request)
            #expect(try await stage.state(request) == "waiting_for_apple")
            #expect(try await stage.proceed(request, withoutApple: true) == .done)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
            #expect(try await stage.count("select from accountctl.operator_log where action = 'deletion.proceed'") == 1)
        }
    }

    @Test func goingOnWithoutAppleIsTakenBackUntilTheLockOut() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client"), for: endpoint)
            }
            try await stage.drive(request)
            let (desk, pool) = (stage.desk, stage.pool)
            func proceed() async throws -> DeletionDesk.Act { try await stage.proceed(request, withoutApple: true) }
            func takeBack() async throws -> DeletionDesk.Act {
                try await pool.withConnection { connection in
                    try await desk.waitForApple(request, reason: "x", on: connection)
                }
            }
            #expect(try await takeBack() == .unchanged)
            #expect(try await proceed() == .done)
            // The preflight has passed without a check of Apple.
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.lockOut)))
            #expect(try await takeBack() == .done)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "waiting_for_apple")
            #expect(try await proceed() == .done)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            #expect(try await takeBack() == .refused(.lockedOut))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
        }
    }

    @Test func aCodeComesAtOnceAndItsFailuresAreTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let expired = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(expired, of: person, after: "6 minutes") == .settled(.expired))
            let used = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(used, of: person) == .settled(.exchanged))
            try await stage.sql(
                "update accountctl.authorization_codes set received_at = received_at - interval '2 hours'"
            )
            #expect(try await stage.exchange(used + "x", of: person) == .settled(.refused))
            // Another person's code does not replace the credential that is held.
            let other = try await stage.signUp("berta")
            let foreign = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: other.sub)
            #expect(try await stage.exchange(foreign, of: person) == .settled(.wrongAccount))
            #expect(try await stage.count("select from accountctl.authorization_codes where code is not null") == 0)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
        }
    }

    @Test func appleIsNotAskedForAnAccountWithoutAnIdentityOfIts() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta", apple: false))
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(code, of: other) == .settled(.wrongAccount))
            #expect(stage.sandbox.journal.count(.appleToken) == 0)
            // The code has not been used up.
            #expect(try await stage.exchange(code, of: person) == .settled(.exchanged))
        }
    }

    /// The log quotes Apple's description of why it refused a code.
    ///
    /// Only the description distinguishes a code of another client from one of another redirect URI, and both from an
    /// expired code.
    @Test func whatAppleSaysOfACodeItRefusesIsTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let lines = LogLines()
            #expect(try await stage.exchange("made-up", of: person, logger: lines.logger) == .settled(.refused))
            let told = lines.all.filter { $0.contains("refused an authorization code") }
            #expect(told.count == 1)
            #expect(told.first?.contains("client_id=\(Stage.clientID)") == true, "\(told)")
            #expect(told.first?.contains("invalid_grant (The code has expired or has been revoked.)") == true)
        }
    }

    /// A code whose client id is not configured is logged when it starts to wait and when it expires.
    ///
    /// Operators can still configure the client id in time, and do not get a log line every five seconds.
    @Test func aCodeThatWaitsIsToldOnceAndThatItRanOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            _ = try await stage.call(person, "select public.submit_apple_authorization_code('c', 'com.example.other')")
            let lines = LogLines()
            var registry = JobRegistry()
            try DeletionJobs.register(in: &registry, services: stage.services())
            for isOver in [false, false, true] {
                if isOver { try await stage.sql("update accountctl.authorization_codes set expires_at = now()") }
                try await stage.sql("update accountctl.jobs set run_at = now() where state = 'scheduled'")
                try await registry.work(in: stage.pool, logger: lines.logger)
            }
            let told = lines.all.filter { $0.contains("an authorization code") }
            #expect(told.count == 2, "\(told)")
            #expect(told.first?.contains("client_id=com.example.other") == true, "\(told)")
            #expect(told.last?.contains("outcome=expired") == true, "\(told)")
        }
    }

    @Test func aCrashRightAfterAppleAnsweredIsGrantUnknown() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let request = try await stage.request(person, code: code)
            let id = try await stage.lastCode()
            let crash = stage.services(probe: SimulatedCrash.once(at: .afterExchange))
            await #expect(throws: SimulatedCrash.self) { try await CodeExchange(crash).run(id) }
            #expect(try await CodeExchange(stage.services()).run(id) == .settled(.grantUnknown))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
        }
    }

    @Test func aLostAnswerIsGrantUnknownAndTheAppIsAskedForAnotherCode() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let id = stage.sandbox.faults.set(.drop(.before), for: .appleToken)
            let lines = LogLines()
            #expect(try await stage.exchange(code, of: person, logger: lines.logger) == .settled(.grantUnknown))
            #expect(lines.all.count { $0.contains("answer to an authorization code was lost") } == 1, "\(lines.all)")
            stage.sandbox.faults.clear(id)
            let status = try await stage.call(person, "select public.request_account_deletion()")
            #expect(status.contains(#""wants_apple_code": true"#))
            let second = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            #expect(try await stage.exchange(second, of: person) == .settled(.exchanged))
        }
    }

    @Test func noCredentialIsAnOutcomeOfItsOwn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.erase(person)
            #expect(try await stage.outcome(.revokeApple, request) == "not_held")
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    @Test func aCredentialWhoseIdentityMovedIsNotRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            try await stage.sql("update auth.identities set user_id = \(other.id) where provider_id = \(person.sub)")
            let request = try await stage.erase(person)
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
            #expect(stage.sandbox.apple.liveConsents == 1)
        }
    }

    @Test func aMissingSealingKeyStopsBeforeSayingDone() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            await #expect(throws: SimulatedCrash.self) {
                try await stage.drive(request, probe: SimulatedCrash.once(at: .before(.verify)))
            }
            let strange = stage.services(vault: try stage.vaultWithAnotherKey())
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.situation(request)?.subject == "test1")
            // The key is lost for good, and the outcome and the receipt say so.
            #expect(try await stage.proceed(request, withoutIdentifiers: true) == .done)
            #expect(try await DeletionDriver(strange).drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
            #expect(try await stage.proofs(of: request) == ["user_id_only", "user_id_only", "user_id_only"])
            let receipt = try await stage.value(
                "select document ->> 'outOfScope' from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains("only the user id was searched for"))
        }
    }

    @Test func aRequestGoesOnWhenItsKeyIsConfiguredLater() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.verify)))
            let file = Mutex<KeyRing?>(nil)
            let keys = try stage.vaultWithAnotherKey().keys.following(every: .zero) { file.withLock(\.self) }
            let vault = IdentifierVault(keys: keys, hashKey: stage.vault.hashKey)
            let running = DeletionDriver(stage.services(vault: vault))
            _ = try await running.drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            file.withLock { $0 = stage.vault.keys }
            #expect(try await running.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "ok")
        }
    }

    /// A credential is revoked even if its identity was unlinked, since nobody else signs in with that identity.
    ///
    /// Otherwise the app would stay among those that the person's Apple Account is used with.
    @Test func aCredentialWhoseIdentityWasUnlinkedIsRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("delete from auth.identities where provider_id = \(person.sub)")
            let request = try await stage.erase(person)
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
            #expect(stage.sandbox.journal.count(.appleRevoke) == 1)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }
}
