import AccountLifecycle
import Foundation
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ErasureTests {
    @Test func anAccountIsErasedAndNobodyElse() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.fullAccount("berta")
            let before = try await stage.fingerprint(other)
            let request = try await stage.erase(person)
            #expect(try await stage.state(request) == "verified")
            #expect(try await stage.traces(of: person) == "")
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 0)
            #expect(try await stage.count("select from storage.objects") == 3)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 3)
            let consent = stage.sandbox.apple.consent(sub: try #require(person.sub), clientID: Stage.clientID)
            guard case .ended = consent else {
                Issue.record("Apple still has a consent: \(consent)")
                return
            }
            #expect(stage.sandbox.apple.liveConsents == 1)
            #expect(try await stage.fingerprint(other) == before)
            for step in DeletionStep.allCases {
                #expect(try await stage.outcome(step, request) != nil, "\(step) is not recorded")
            }
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
            let (subject, outcome) = try await stage.admin.withConnection { connection in
                try connection.one(
                    """
                    select d.subject_hash, r.document ->> 'apple'
                    from accountctl.deletion_requests as d
                    join accountctl.deletion_receipts as r on r.request_id = d.id
                    where d.id = \(request)
                    """,
                    as: ([UInt8], String).self
                )
            }
            #expect(subject == stage.vault.subject(person.id).bytes)
            #expect(outcome == "revoked")
            // The record that everything was on disk before is a row of its own, and not one of the settings.
            #expect(try await stage.count("select from accountctl.deletion_flushes") == 1)
            let settings = "select string_agg(name, ' ' order by name) from accountctl.settings" as Statement
            #expect(try await stage.value(settings, as: String.self) == "deletion.grace profiles.origin")
        }
    }

    @Test func theWorkerDoesItAllFromTheRequestOn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            _ = try await stage.upload("\(UUID().uuidString).jpeg", by: person)
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let request = try await stage.request(person, code: code)
            var registry = JobRegistry()
            let lines = LogLines()
            try DeletionJobs.register(in: &registry, services: stage.services(logger: lines.logger))
            // The code's exchange may run second, in which case the deletion waits some seconds for it.
            for _ in 0..<20 where try await stage.state(request) != "verified" {
                try await registry.work(in: stage.pool)
                try await stage.sql("update accountctl.jobs set run_at = now() where state = 'scheduled'")
            }
            #expect(try await stage.state(request) == "verified")
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
            #expect(try await stage.traces(of: person) == "")
            let told = lines.all.filter { $0.contains("is erased") }
            #expect(told == ["info an account is erased receipt=1 request=\(request.text)"])
        }
    }

    /// A discarded job would be an alarm, while there is nothing left to do.
    @Test func theJobOfARequestThatIsGoneIsCancelled() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            try await stage.sql("delete from accountctl.deletion_requests where id = \(request)")
            var registry = JobRegistry()
            try DeletionJobs.register(in: &registry, services: stage.services())
            try await registry.work(in: stage.pool)
            let outcome: Statement = "select outcome::text from accountctl.job_history where kind = 'account.delete'"
            #expect(try await stage.value(outcome, as: String.self) == "cancelled")
        }
    }

    @Test func twoRequestsAtOnceAreOne() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let requests = try await withThrowingTaskGroup(of: UUID.self) { group in
                for _ in 0..<3 { group.addTask { try await stage.request(person) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(requests.count == 1)
            #expect(try await stage.count("select from accountctl.jobs where kind = 'account.delete'") == 1)
            // Each caller gets a status token of its own, and all of them are valid.
            #expect(try await stage.count("select from accountctl.deletion_status_tokens") == 3)
        }
    }

    @Test func drivenTwiceAtOnceItIsDoneOnce() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { _ = try? await stage.drive(request) } }
                try await group.waitForAll()
            }
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from accountctl.deletion_receipts") == 1)
        }
    }

    @Test func aPersonWhoCancelsKeepsTheAccount() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let before = try await stage.count("select from storage.objects")
            let request = try await stage.request(person)
            try await stage.sql("update accountctl.deletion_requests set run_after = now() + interval '1 hour'")
            guard case .until = try await stage.drive(request) else {
                Issue.record("did not wait for the end of grace")
                return
            }
            #expect(try await stage.state(request) == "grace")
            #expect(try await stage.call(person, "select public.cancel_account_deletion()").contains("cancelled"))
            #expect(try await stage.drive(request) == .ended(.cancelled))
            #expect(try await stage.count("select from storage.objects") == before)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            let named: Statement = """
                select
                from accountctl.deletion_requests
                where user_id is not null
                or cancelled_by is not null
                """
            try await stage.sql("update accountctl.deletion_requests set cancelled_by = '\\x01'")
            #expect(try await stage.count(named) == 1)
            let second = try await stage.request(person)
            #expect(second != request)
            #expect(try await stage.drive(second) == .ended(.verified))
            // The cancelled request forgets the account, too.
            #expect(try await stage.count(named) == 0)
        }
    }

    @Test func afterTheLockOutNobodyCanCancel() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            await #expect(throws: SimulatedCrash.self) {
                try await stage.drive(request, probe: SimulatedCrash.once(at: .after(.lockOut)))
            }
            let state = await sqlState { try await stage.call(person, "select public.cancel_account_deletion()") }
            #expect(state == "PT409")
        }
    }

    @Test func theStatusTokenOutlivesTheAccount() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let reply = try await stage.call(person, "select public.request_account_deletion()")
            let opened = try Opened(reply)
            try await stage.sql("update accountctl.deletion_requests set run_after = now()")
            #expect(try await stage.drive(opened.request) == .ended(.verified))
            let status = try await stage.admin.withTransaction { connection in
                try connection.execute("set local role anon")
                return try connection.one(
                    "select public.account_deletion_status(\(opened.token))",
                    as: String.self
                )
            }
            #expect(status.contains(#""state": "verified""#) && status.contains(#""proof": "searched""#))
            #expect(status.contains(#""apple": "not_held""#))
            #expect(!status.contains(person.text) && !status.contains(person.email))
        }
    }

    @Test func aReceiptInThePlaceOfAnotherIsSeen() async throws {
        try await Stage.with { stage in
            var requests: [UUID] = []
            for name in ["anna", "berta"] {
                requests.append(try await stage.request(try await stage.signUp(name)))
                #expect(try await stage.drive(requests[requests.count - 1]) == .ended(.verified))
            }
            let first = requests[0]
            let verdict = { @Sendable in
                let receipt = try await stage.pool.withConnection { try IssuedReceipt.find(of: first, on: $0) }
                return try receipt?.check(with: stage.vault.hashKey)
            }
            #expect(try await verdict() == .intact)
            // A complete receipt of another request, including its seal.
            try await stage.sql(
                """
                update accountctl.deletion_receipts as r
                set document = other.document, seal = other.seal
                from accountctl.deletion_receipts as other
                where r.request_id = \(first) and other.request_id <> r.request_id
                """
            )
            #expect(try await verdict() == .changed)
        }
    }

    @Test func theReceiptShowsWhetherItWasRewritten() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.erase(person)
            let (document, seal) = try await stage.admin.withConnection { connection in
                try connection.one(
                    "select document, seal from accountctl.deletion_receipts where request_id = \(request)",
                    as: (JSON<ReceiptDocument>, [UInt8]).self
                )
            }
            #expect(try document.value.seal(with: stage.vault.hashKey) == seal)
            try await stage.sql(
                "update accountctl.deletion_receipts set document = jsonb_set(document, '{apple}', '\"revoked\"')"
            )
            let changed = try await stage.value(
                "select document from accountctl.deletion_receipts",
                as: JSON<ReceiptDocument>.self
            )
            #expect(try changed.value.seal(with: stage.vault.hashKey) != seal)
        }
    }
}
