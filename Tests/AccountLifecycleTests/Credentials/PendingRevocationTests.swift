import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import SignInWithApple
import TestSupport
import Testing

/// A revocation that Apple did not accept before the erasure is retried without the account.
@Suite(.timeLimit(.minutes(5))) struct PendingRevocationTests {
    @Test func itIsTriedOnUntilAppleTakesIt() async throws {
        try await Stage.with { stage in
            let request = try await stage.erasedWithoutApple()
            #expect(try await stage.revocation(of: request) == "waiting 0 t pending")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await stage.revocation(of: request) == "waiting 1 t pending")
            // The first retry is due after an hour, the next one after two.
            for (hours, attempts) in [(0, 1), (2, 2), (1, 2), (2, 3)] {
                try await stage.letRevocationsAge(hours: hours)
                #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
                #expect(try await stage.revocation(of: request) == "waiting \(attempts) t pending")
            }
            stage.sandbox.faults.clearAll()
            try await stage.letRevocationsAge(hours: 24)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "revoked 4 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    @Test func itIsGivenUpWhenItsTimeIsOverAndThePersonIsTold() async throws {
        try await Stage.with { stage in
            let request = try await stage.erasedWithoutApple()
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            try await stage.letRevocationsAge(hours: 24)
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "given_up 2 f not_revoked")
        }
    }

    /// A grant that Apple does not know under this client id is retried, since it may be live.
    ///
    /// Apple answers for a dead token as for one that it has revoked, so `invalid_grant` does not mean a dead token.
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
            #expect(try await stage.revocation(of: request) == "waiting 0 t pending")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await stage.revocation(of: request) == "waiting 1 t pending")
            stage.sandbox.faults.clearAll()
            try await stage.letRevocationsAge(hours: 24)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "revoked 2 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Once Apple has answered about a grant of the team that the app left, it is given up, and the person is told: nobody
    /// can revoke it any more, and Apple answers for a dead token that it is revoked.
    @Test(arguments: [true, false], [true, false])
    func aGrantOfTheFormerTeamIsGivenUp(_ isFormer: Bool, _ isAccepted: Bool) async throws {
        try await Stage.with { stage in
            let request = try await stage.erasedWithoutApple()
            if isFormer { try await stage.makeTokensFormer() }
            stage.sandbox.faults.clearAll()
            if !isAccepted { stage.sandbox.faults.set(.appleError("invalid_grant"), for: .appleRevoke) }
            #expect(try await PendingRevocation.retry(with: stage.services()) == (isFormer || isAccepted ? 0 : 1))
            let ofNewTeam = isAccepted ? "revoked 1 f revoked" : "waiting 1 t pending"
            #expect(try await stage.revocation(of: request) == (isFormer ? "given_up 1 f not_revoked" : ofNewTeam))
            let outcome = try await stage.value(
                "select last_outcome from accountctl.pending_revocations",
                as: String.self
            )
            #expect((outcome == "former_team") == isFormer)
        }
    }

    /// A grant that is handed over keeps its team, whether the app left that before or leaves it meanwhile; and why it
    /// waits is shown all that time.
    @Test(arguments: [true, false])
    func aGrantThatIsHandedOverKeepsItsTeam(_ hasMovedBefore: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            if hasMovedBefore { try await stage.makeTokensFormer() }
            let request = try await stage.handedOver(of: person)
            #expect(try await stage.drive(request) == .ended(.verified))
            // Apple still does not answer.
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(try await stage.revocation(of: request) == "waiting 1 t pending")
            let outcome = try await stage.value(
                "select last_outcome from accountctl.pending_revocations",
                as: String.self
            )
            #expect(outcome == "apple_unreachable")
            stage.sandbox.faults.clearAll()
            try await stage.letRevocationsAge(hours: 24)
            let apple = try hasMovedBefore ? nil : stage.clientsAfterMove()
            #expect(try await PendingRevocation.retry(with: stage.services(apple: apple)) == 0)
            #expect(try await stage.revocation(of: request) == "given_up 2 f not_revoked")
        }
    }

    /// A client id that Apple throttles does not delay the others, even with more revocations than one batch takes.
    @Test(arguments: ["1800", nil])
    func aClientIDThatAppleThrottlesDoesNotKeepTheOthersWaiting(_ retryAfter: String?) async throws {
        try await Stage.with { stage in
            _ = try await stage.erasedWithoutApple()
            for (clientID, count) in [(Stage.clientID, 60), ("com.example.other", 1)] {
                try await stage.addRevocations(count, of: clientID)
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

    /// A call that the circuit breaker blocks does not count as an attempt.
    ///
    /// Nothing is sent while Apple rejects the client id, so untried revocations need not wait for a day once it is
    /// fixed.
    @Test func whatTheBreakerAnswersIsNoTry() async throws {
        try await Stage.with { stage in
            _ = try await stage.erasedWithoutApple()
            try await stage.addRevocations(2, of: Stage.clientID)
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
            // A revocation whose time is over is given up all the same, even behind others that are still to be tried.
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

    /// A new sign-up or a pause is noticed while a revocation waits its turn, behind perhaps hundreds of other calls.
    @Test(arguments: [true, false]) func whatComesWhileItWaitsForItsTurnIsSeen(_ returns: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.handedOver(of: person)
            #expect(try await stage.drive(request) == .ended(.verified))
            stage.sandbox.faults.clearAll()
            let calls = stage.sandbox.journal.count(.appleRevoke)
            let (apple, desk, holding) = (stage.apple, stage.desk, Counter())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<apple.callsAtOnce {
                    group.addTask {
                        // Occupies a slot until the task is cancelled.
                        _ = try? await apple.inTurn {
                            holding.add()
                            let end = AsyncStream<Never>.makeStream()
                            defer { end.continuation.finish() }
                            for await _ in end.stream {}
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
            let told = try await stage.revocation(of: request)
            #expect(told == (returns ? "given_up 1 f not_revoked" : "waiting 0 t pending"))
        }
    }

    /// The receipt discloses a sealed credential that is kept, after a verified erasure, until Apple accepts its
    /// revocation.
    @Test(arguments: [true, false]) func theReceiptSaysWhatIsKeptUntilAppleTakesIt(_ waits: Bool) async throws {
        try await Stage.with { stage in
            let request = try await stage.handedOver(of: try await stage.fullAccount())
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
            // As the app's article says of `pending`.
            let days = try await stage.value(
                "select extract(day from give_up_at - created_at)::int from accountctl.pending_revocations",
                as: Int.self
            )
            #expect(days == 30)
        }
    }

    /// A revocation that Apple does not accept is logged when it is handed over and when it is given up.
    ///
    /// Nothing else shows that Apple knows none of the tokens of a client id: the self-test succeeds, and no deletion
    /// waits.
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
            #expect(try await stage.revocation(of: request) == "waiting 0 t pending")
            let handedOver = warnings("the revocation is tried again separately")
            #expect(handedOver.count == 1, "\(lines.all)")
            #expect(handedOver.allSatisfy { $0.contains("client_id=\(Stage.clientID)") })
            #expect(handedOver.allSatisfy { $0.contains("Apple knows no such grant under this client id") })
            #expect(try await PendingRevocation.retry(with: services) == 1)
            #expect(warnings("is given up").isEmpty, "\(lines.all)")
            try await stage.letRevocationsAge(hours: 24)
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: services) == 0)
            let ended = warnings("is given up")
            #expect(ended.count == 1, "\(lines.all)")
            #expect(ended.allSatisfy { $0.contains("client_id=\(Stage.clientID)") && $0.contains(request.text) })
            let sub = try #require(person.sub)
            #expect(!lines.all.contains { $0.contains(sub) })
        }
    }
}
