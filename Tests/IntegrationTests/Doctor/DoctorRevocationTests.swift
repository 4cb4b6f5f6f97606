import AccountLifecycle
import Foundation
import TestSupport
import Testing

/// Revocations that Apple did not accept while the account existed: no deletion waits for them, and no test of the keys
/// shows them.
@Suite("The doctor reports on credentials that Apple does not revoke:", .timeLimit(.minutes(5)))
struct DoctorRevocationTests {
    /// Adds a pending revocation of this state and age; a revocation that does not wait was settled a day ago.
    private func add(
        _ state: String,
        since age: String,
        _ outcome: String,
        _ clientID: String = "com.example.app",
        to deployment: DoctorStage
    ) async throws {
        let waits = state == "waiting"
        try await deployment.database.psql(
            """
            insert into accountctl.pending_revocations (
                client_id, state, sealed_token, sealing_key_id, created_at, give_up_at, settled_at, last_outcome
            )
            values (
                '\(clientID)', '\(state)', \(waits ? "'x'" : "null"), \(waits ? "'sealing'" : "null"), now() - interval '\(age)',
                now() - interval '\(age)' + interval '30 days', \(waits ? "null" : "now() - interval '1 day'"), '\(outcome)'
            )
            """
        )
    }

    @Test("credentials that wait for more than a day or were given up, except those whose person returned")
    func revocations() async throws {
        try await DoctorStage.with { deployment in
            func codes() async throws -> [String] {
                try await deployment.examine().findings.map(\.code).filter {
                    ["apple.revocations", "apple.not_revoked"].contains($0)
                }
            }
            try await add("waiting", since: "20 hours", "apple_unreachable", to: deployment)
            try await add("given_up", since: "31 days", "person_returned", to: deployment)
            try await add("revoked", since: "31 days", "revoked", to: deployment)
            #expect(try await codes() == [])
            try await add("waiting", since: "2 days", "apple_misconfigured", "com.example.web", to: deployment)
            let waiting = try await deployment.find("apple.revocations", "warning")
            let both =
                "2 credentials of com.example.app and com.example.web wait for Apple to revoke them, the first for 2 d"
            #expect(waiting.hasPrefix(both), "\(waiting)")
            #expect(waiting.hasSuffix(" more: apple_misconfigured and apple_unreachable"), "\(waiting)")
            try await add("waiting", since: "8 days", "apple_misconfigured", to: deployment)
            #expect(try await deployment.find("apple.revocations", "error").hasPrefix("3 credentials of"))
            #expect(try await codes() == ["apple.revocations"])
            try await add("given_up", since: "31 days", "apple_misconfigured", to: deployment)
            let lost = try await deployment.find("apple.not_revoked", "warning")
            #expect(lost.hasPrefix("1 credential of com.example.app was given up within 90 days"), "\(lost)")
            #expect(lost.hasSuffix(": apple_misconfigured"), "\(lost)")
        }
    }

    @Test("that Apple sends no notification of revoked credentials, as without an endpoint at Apple")
    func notifications() async throws {
        try await DoctorStage.with { deployment in
            func erase(_ count: Int, _ age: String) async throws {
                try await deployment.database.psql(
                    """
                    insert into accountctl.deletion_requests (
                        subject_hash, subject_key_id, origin, state, requested_at, run_after, legal_deadline, locked_out_at,
                        finished_at, apple_outcome
                    )
                    select
                        sha256('x'), 'hash', 'app', 'verified', moment, moment, moment + interval '1 month', moment, moment,
                        'revoked'
                    from generate_series(1, \(count)), (select now() - interval '\(age)') as t (moment)
                    """
                )
            }
            func told() async throws -> [String] {
                try await deployment.examine().findings.filter { $0.code == "apple.notifications" }.map(\.what)
            }
            // These erasures are too few, too old or too recent for a finding.
            try await erase(2, "2 days")
            try await erase(3, "31 days")
            try await erase(3, "1 hour")
            #expect(try await told() == [])
            try await erase(1, "20 days")
            #expect(try await deployment.find("apple.notifications", "notice").hasPrefix("3 erased accounts were "))
            // A report from a device is no evidence that Apple's notifications arrive.
            try await deployment.database.psql(
                """
                insert into accountctl.credential_events (source, kind, handled_at, outcome)
                values ('device', 'state_authorized', now(), 'noted')
                """
            )
            #expect(try await told().count == 1)
            try await deployment.database.psql(
                """
                insert into accountctl.credential_events (source, kind, notification_id, handled_at, outcome)
                values ('apple', 'consent-revoked', 'com.example.app/1', now(), 'unknown_account')
                """
            )
            #expect(try await told() == [])
        }
    }

    @Test("an inbox for Apple's notifications that fills up, as strangers can fill it")
    func inbox() async throws {
        try await DoctorStage.with { deployment in
            func fill(_ numbers: ClosedRange<Int>) async throws {
                try await deployment.database.psql(
                    """
                    insert into accountctl.apple_inbox (digest, body)
                    select sha256(n::text::bytea), 'x'
                    from generate_series(\(numbers.lowerBound), \(numbers.upperBound)) as n
                    """
                )
            }
            try await fill(1...499)
            #expect(try await !deployment.examine().findings.contains { $0.code == "apple.inbox" })
            try await fill(500...500)
            #expect(try await deployment.find("apple.inbox", "warning").hasPrefix("500 notifications wait"))
            // The doctor and the database mean the same by a full inbox.
            try await fill(501...InboxFilling.most - 1)
            let database = deployment.database
            let last = try await database.psql("select accountctl.receive_apple_notification('the last')")
            #expect(last == "t")
            let refused = await #expect(throws: TestSupportError.self) {
                try await database.psql("select accountctl.receive_apple_notification('one more')")
            }
            #expect(try #require(refused).description.contains("the inbox is full"))
        }
    }

    @Test("with a command that lists their requests")
    func list() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion()
            try await deployment.database.psql(
                """
                update accountctl.deletion_requests set apple_outcome = 'pending';
                insert into auth.users (id) values ('\(OperatorStage.id(1))');
                select accountctl.open_deletion_request('\(OperatorStage.id(1))', 'app')
                """
            )
            try await add("waiting", since: "2 days", "apple_misconfigured", to: deployment)
            let found = try await deployment.examine().findings.first { $0.code == "apple.revocations" }
            let finding = try #require(found)
            let hint = try #require(
                finding.todo?.firstMatch(of: /accountctl (deletion list .*) names the requests/),
                "\(finding)"
            )
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "state,apple"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.status == 0 && listed.output == "grace\tpending\n", "\(listed)")
            let table = try await AccountctlProcess(
                ["deletion", "list", "--apple", "pending", "--apple", "not_revoked"],
                environment: deployment.variables
            ).result()
            #expect(table.output.contains("APPLE") && !table.output.contains("not_revoked"), "\(table)")
            let none = try await AccountctlProcess(
                ["deletion", "list", "--all", "--apple", "not_revoked"],
                environment: deployment.variables
            ).result()
            #expect(none.status == 0 && none.errors.contains("No such deletion requests"), "\(none)")
            let wrong = try await AccountctlProcess(
                ["deletion", "list", "--apple", "ok"],
                environment: deployment.variables
            ).result()
            #expect(wrong.status == 2, "\(wrong)")
        }
    }
}
