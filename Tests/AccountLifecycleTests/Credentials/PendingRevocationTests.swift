import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import SignInWithApple
import TestSupport
import Testing

/// What Apple did not take while the account was there is tried on without it.
@Suite(.timeLimit(.minutes(5))) struct PendingRevocationTests {
    /// Somebody who was erased while Apple was away.
    private func erased(on stage: Stage) async throws -> UUID {
        let request = try await handedOver(of: try await stage.fullAccount(), on: stage)
        #expect(try await stage.drive(request) == .ended(.verified))
        return request
    }

    /// A request whose credential was handed over to later attempts, and whose account is there still.
    private func handedOver(of person: Person, on stage: Stage) async throws -> UUID {
        let request = try await stage.request(person)
        for endpoint in [Endpoint.appleToken, .appleRevoke] { stage.sandbox.faults.set(.status(503), for: endpoint) }
        // As a look at Apple would leave it, which nothing here has taken.
        try await stage.sql("update accountctl.deletion_requests set state = 'waiting_for_apple' where id = \(request)")
        let desk = stage.desk
        let act = try await stage.pool.withConnection { connection in
            try await desk.proceed(
                request,
                withoutApple: true,
                withoutIdentifiers: false,
                reason: "x",
                on: connection
            )
        }
        #expect(act == .done)
        try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
        #expect(try await standing(request, on: stage) == "waiting 0 t pending")
        return request
    }

    /// State, attempts, whether the token is kept, and what the person is told.
    private func standing(_ request: UUID, on stage: Stage) async throws -> String {
        try await stage.value(
            """
            select concat_ws(' ', p.state, p.attempts, p.sealed_token is not null, r.apple_outcome)
            from accountctl.pending_revocations as p
            join accountctl.deletion_requests as r on r.id = p.request_id
            where r.id = \(request)
            """,
            as: String.self
        )
    }

    /// What the receipt says of Apple: at the top, and of its step.
    private func receipt(_ request: UUID, on stage: Stage) async throws -> String {
        try await stage.value(
            """
            select concat_ws(' ', d.document ->> 'apple', s.step ->> 'outcome', s.step -> 'facts' ->> 'counts')
            from accountctl.deletion_receipts as d
            cross join lateral jsonb_array_elements(d.document -> 'steps') as s (step)
            where d.request_id = \(request) and s.step ->> 'step' = 'revoke_apple'
            """,
            as: String.self
        )
    }

    private func letTimePass(_ hours: Int, on stage: Stage) async throws {
        try await stage.sql(
            "update accountctl.pending_revocations set last_tried_at = last_tried_at - \(hours) * interval '1 hour'"
        )
    }

    @Test func itIsTriedOnUntilAppleTakesIt() async throws {
        try await Stage.with { stage in
            let request = try await erased(on: stage)
            #expect(try await standing(request, on: stage) == "waiting 0 t pending")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await standing(request, on: stage) == "waiting 1 t pending")
            // An hour apart, then two.
            for (hours, attempts) in [(0, 1), (2, 2), (1, 2), (2, 3)] {
                try await letTimePass(hours, on: stage)
                #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
                #expect(try await standing(request, on: stage) == "waiting \(attempts) t pending")
            }
            stage.sandbox.faults.clearAll()
            try await letTimePass(24, on: stage)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "revoked 4 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Erased while Apple was away, and back: revoking by the old token would end what the new account lives on.
    @Test func whoHasSignedUpAnewIsNotSignedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await handedOver(of: person, on: stage)
            #expect(try await stage.drive(request) == .ended(.verified))
            stage.sandbox.faults.clearAll()
            let (calls, consents) = (stage.sandbox.journal.count(.appleRevoke), stage.sandbox.apple.liveConsents)
            _ = try await stage.signUp(sub: person.sub)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "given_up 1 f not_revoked")
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
            #expect(stage.sandbox.apple.liveConsents == consents)
            let left = try await stage.value(
                "select last_outcome || ' ' || (sealed_subject is null) from accountctl.pending_revocations",
                as: String.self
            )
            #expect(left == "person_returned true")
        }
    }

    /// Hundreds of credentials may be asked about before it: who signs up anew meanwhile is seen, and a pause as well.
    @Test(arguments: [true, false]) func whatComesWhileItWaitsForItsTurnIsSeen(_ returns: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await handedOver(of: person, on: stage)
            #expect(try await stage.drive(request) == .ended(.verified))
            stage.sandbox.faults.clearAll()
            let calls = stage.sandbox.journal.count(.appleRevoke)
            let (apple, desk, holding) = (stage.apple, stage.desk, Counter())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<apple.callsAtOnce {
                    group.addTask {
                        // Until it is cancelled.
                        _ = try? await apple.inTurn {
                            holding.add()
                            try await Task.sleep(for: .seconds(600))
                        }
                    }
                }
                try await eventually("the line is full") { holding.value == apple.callsAtOnce }
                let retry = Task { try await PendingRevocation.retry(with: stage.services()) }
                try await eventually("the revocation stands in line") { apple.waitingCount > 0 }
                if returns {
                    _ = try await stage.signUp(sub: person.sub)
                } else {
                    try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
                }
                group.cancelAll()
                let left = try await retry.value
                #expect(left == (returns ? 0 : 1))
            }
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
            let told = try await standing(request, on: stage)
            #expect(told == (returns ? "given_up 1 f not_revoked" : "waiting 0 t pending"))
        }
    }

    /// The account that is being erased is there until its rows are deleted: that is nobody who has returned.
    @Test(arguments: [false, true])
    func theAccountThatIsErasedHasNotReturned(_ isOld: Bool) async throws {
        try await Stage.with { stage in
            let request = try await handedOver(of: try await stage.fullAccount(), on: stage)
            // Handed over by a worker that kept no name.
            if isOld { try await stage.sql("update accountctl.pending_revocations set sealed_subject = null") }
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "revoked 1 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await stage.drive(request) == .ended(.verified))
            // Nor is it forgotten when the account goes.
            #expect(try await standing(request, on: stage) == "revoked 1 f revoked")
            #expect(try await receipt(request, on: stage) == "revoked revoked {\"revoked\": 1}")
        }
    }

    /// This program keeps it of a person whose erasure is verified.
    @Test(arguments: [true, false]) func theReceiptSaysWhatIsKeptUntilAppleTakesIt(_ waits: Bool) async throws {
        try await Stage.with { stage in
            let request = try await handedOver(of: try await stage.fullAccount(), on: stage)
            if !waits {
                stage.sandbox.faults.clearAll()
                try await stage.testApple()
                #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
            let receipt = try await stage.pool.withConnection { try IssuedReceipt.find(of: request, on: $0) }
            let issued = try #require(receipt)
            #expect(try issued.check(with: stage.vault.hashKey) == .intact)
            let kept = issued.document.outOfScope.filter { $0.hasPrefix("credentials that Apple has") }
            #expect(kept.count == (waits ? 1 : 0), "\(kept)")
            let day = try await stage.value(
                "select to_char(give_up_at at time zone 'UTC', 'YYYY-MM-DD') from accountctl.pending_revocations",
                as: String.self
            )
            #expect(kept.allSatisfy { $0.contains("yet: 1, kept sealed") && $0.contains("tried until \(day)") })
        }
    }

    /// What was given up is told so, whether or not the account is still there.
    @Test func whatIsGivenUpBeforeTheAccountGoesIsNotPending() async throws {
        try await Stage.with { stage in
            let request = try await handedOver(of: try await stage.fullAccount(), on: stage)
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await standing(request, on: stage) == "given_up 1 f not_revoked")
            #expect(try await receipt(request, on: stage) == "not_revoked not_revoked {\"not_revoked\": 1}")
        }
    }

    /// Somebody brought the account back on purpose, under its old id, and the request that meant the former one was
    /// cancelled.
    @Test func whoIsBroughtBackUnderTheOldIDIsNotSignedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await handedOver(of: person, on: stage)
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            try await stage.sql("delete from auth.users where id = \(person.id)")
            try await stage.sql(
                """
                insert into auth.users (instance_id, id, aud, role, created_at)
                values ('00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated', now())
                """
            )
            try await stage.sql(
                """
                insert into auth.identities (user_id, provider, provider_id, identity_data)
                values (\(person.id), 'apple', \(person.sub), '{}')
                """
            )
            let consents = stage.sandbox.apple.liveConsents
            let desk = stage.desk
            let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "x", on: $0) }
            #expect(act == .done)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "given_up 1 f not_revoked")
            #expect(stage.sandbox.apple.liveConsents == consents)
        }
    }

    /// A dead token is answered like one that was revoked: what Apple does not know under this client id may live, and
    /// is tried on.
    @Test func aGrantThatAppleDoesNotKnowIsTriedOn() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.appleError("invalid_grant"), for: .appleRevoke)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .appleMisconfigured)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            for _ in 0..<10 {
                try await stage.sql("update accountctl.jobs set run_at = now()")
                if try await stage.drive(request) == .ended(.verified) { break }
            }
            #expect(try await standing(request, on: stage) == "waiting 0 t pending")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await standing(request, on: stage) == "waiting 1 t pending")
            stage.sandbox.faults.clearAll()
            try await letTimePass(24, on: stage)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "revoked 2 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Apple knows none of the tokens under a client id: a test of our keys is good, and no deletion waits for it.
    @Test func whatAppleDoesNotTakeIsToldWhereItIsHandedOverAndWhereItEnds() async throws {
        try await Stage.with { stage in
            let lines = LogLines()
            func warnings(_ words: String) -> [String] {
                lines.all.filter { $0.hasPrefix("warning ") && $0.contains(words) }
            }
            let services = stage.services(logger: lines.logger)
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.appleError("invalid_grant"), for: .appleRevoke)
            for _ in 0..<10 where try await DeletionDriver(services).drive(request) == .ended(.verified) {
                break
            }
            #expect(try await standing(request, on: stage) == "waiting 0 t pending")
            let handedOver = warnings("revoking is tried apart from it")
            #expect(handedOver.count == 1, "\(lines.all)")
            #expect(handedOver.allSatisfy { $0.contains("client_id=\(Stage.clientID)") })
            #expect(handedOver.allSatisfy { $0.contains("Apple knows no such grant under this client id") })
            #expect(try await PendingRevocation.retry(with: services) == 1)
            #expect(warnings("is given up").isEmpty, "\(lines.all)")
            try await letTimePass(24, on: stage)
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: services) == 0)
            let ended = warnings("is given up")
            #expect(ended.count == 1, "\(lines.all)")
            #expect(ended.allSatisfy { $0.contains("client_id=\(Stage.clientID)") && $0.contains(request.text) })
            let sub = try #require(person.sub)
            #expect(!lines.all.contains { $0.contains(sub) })
        }
    }

    /// The account lives on, for the time being or for good: so does what it signs in with.
    @Test(arguments: ["paused", "held"]) func whatAnOperatorStopsIsNotRevoked(_ brake: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await handedOver(of: person, on: stage)
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            let desk = stage.desk
            try await stage.pool.withConnection { connection in
                if brake == "paused" {
                    _ = try await desk.pause(request, reason: nil, on: connection)
                } else {
                    _ = try await desk.hold(person.id, reason: "x", on: connection)
                }
            }
            let calls = stage.sandbox.journal.count(.appleRevoke)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
            #expect(stage.sandbox.apple.liveConsents == 1)
            try await stage.pool.withConnection { connection in
                if brake == "paused" {
                    _ = try await desk.resume(request, on: connection)
                } else {
                    _ = try await desk.release(person.id, reason: nil, on: connection)
                }
            }
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// More of one client id than one time takes, and Apple has had enough of its calls.
    @Test(arguments: ["1800", nil])
    func aClientIDThatAppleThrottlesDoesNotKeepTheOthersWaiting(_ retryAfter: String?) async throws {
        try await Stage.with { stage in
            _ = try await erased(on: stage)
            for (clientID, count) in [(Stage.clientID, 60), ("com.example.other", 1)] {
                try await addRevocations(count, of: clientID, on: stage)
            }
            stage.sandbox.faults.clearAll()
            stage.sandbox.faults.set(.status(429, retryAfter: retryAfter), for: .appleRevoke)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 62)
            let tried = try await stage.value(
                """
                select string_agg(client_id || ' ' || last_outcome, ', ' order by client_id)
                from accountctl.pending_revocations
                where attempts > 0
                """,
                as: String.self
            )
            #expect(tried == "com.example.app apple_unreachable, com.example.other sealing_key_missing")
        }
    }

    /// While Apple rejects the client id nothing is sent: what was not tried need not wait for a day when that is
    /// mended.
    @Test func whatTheBreakerAnswersIsNoTry() async throws {
        try await Stage.with { stage in
            _ = try await erased(on: stage)
            try await addRevocations(2, of: Stage.clientID, on: stage)
            stage.sandbox.faults.clearAll()
            let calls = stage.sandbox.journal.count(.appleRevoke)
            stage.sandbox.faults.set(.appleError("invalid_client"), for: .appleRevoke)
            let standing: Statement = """
                select string_agg(concat_ws(' ', state, attempts, last_tried_at is not null), ', ' order by id)
                from accountctl.pending_revocations
                """
            for _ in 0..<2 {
                #expect(try await PendingRevocation.retry(with: stage.services()) == 3)
                #expect(stage.sandbox.journal.count(.appleRevoke) == calls + 1)
                #expect(try await stage.value(standing, as: String.self) == "waiting 1 t, waiting 0 f, waiting 0 f")
            }
            // Its time is over all the same, behind others that are still to be tried.
            try await stage.sql(
                """
                update accountctl.pending_revocations
                set give_up_at = now()
                where id = (select max(id) from accountctl.pending_revocations)
                """
            )
            #expect(try await PendingRevocation.retry(with: stage.services()) == 2)
            #expect(try await stage.value(standing, as: String.self) == "waiting 1 t, waiting 0 f, given_up 0 f")
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await stage.value(standing, as: String.self) == "waiting 1 t, revoked 1 t, given_up 0 f")
        }
    }

    /// More like the one that waits.
    private func addRevocations(_ count: Int, of clientID: String, on stage: Stage) async throws {
        let columns = "request_id, sealed_token, sealed_subject, sealing_key_id, binding, give_up_at"
        try await stage.sql(
            """
            insert into accountctl.pending_revocations (client_id, \(unsafeSQL: columns))
            select \(clientID), \(unsafeSQL: columns)
            from accountctl.pending_revocations, generate_series(1, \(count))
            where id = (select min(id) from accountctl.pending_revocations)
            """
        )
    }

    @Test func itIsGivenUpWhenItsTimeIsOverAndThePersonIsTold() async throws {
        try await Stage.with { stage in
            let request = try await erased(on: stage)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            try await letTimePass(24, on: stage)
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await standing(request, on: stage) == "given_up 2 f not_revoked")
        }
    }
}
