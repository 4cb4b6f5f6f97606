import AccountLifecycle
import Foundation
import Postgres
import Sealing
import TestSupport
import Testing

@Suite("What operators do with accounts", .timeLimit(.minutes(5)))
struct AccountDeskTests {
    private static let user = UUID(uuidString: "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f") ?? UUID()
    private static let bystander = UUID(uuidString: "00000000-0000-4000-8000-000000000002") ?? UUID()

    private func withPeople(_ body: @Sendable (TestDatabase, AccountDesk, HashKey) async throws -> Void) async throws {
        let key = try HashKey(.named("h1"))
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into auth.users (instance_id, id, email, created_at) values
                    ('00000000-0000-0000-0000-000000000000', '\(Self.user)', 'anna@example.com', now()),
                    ('00000000-0000-0000-0000-000000000000', '\(Self.bystander)', 'bob@example.com', now());
                insert into auth.sessions (id, user_id) values
                    (gen_random_uuid(), '\(Self.user)'), (gen_random_uuid(), '\(Self.user)'),
                    (gen_random_uuid(), '\(Self.bystander)');
                """
            )
            try await body(database, AccountDesk(Operator(name: "olga", hashKey: key)), key)
        }
    }

    private func sessions(_ user: UUID, _ database: TestDatabase) async throws -> String {
        try await database.psql("select count(*) from auth.sessions where user_id = '\(user)'")
    }

    @Test("Signing out ends only this account's sessions, is repeatable, and is logged")
    func signOut() async throws {
        try await withPeople { database, desk, key in
            let (first, second) = try await database.withConnection { connection in
                (
                    try await desk.signOut(Self.user, reason: "lost phone", on: connection),
                    try await desk.signOut(Self.user, reason: nil, on: connection)
                )
            }
            #expect(first == .done(sessions: 2))
            #expect(second == .unchanged)
            #expect(try await sessions(Self.user, database) == "0")
            #expect(try await sessions(Self.bystander, database) == "1")
            let entries = try await database.withConnection { connection in
                var filter = OperatorLog.Filter()
                filter.subject = SubjectHash(Self.user, key: key)
                return try OperatorLog.entries(filter, on: connection)
            }
            #expect(entries.map(\.action) == ["user.sign_out", "user.sign_out"])
            #expect(entries.map(\.reason) == [nil, "lost phone"])
            #expect(entries.allSatisfy { $0.operatorName == "olga" && $0.databaseRole == "postgres" })
        }
    }

    @Test("A suspended account cannot write until it is restored")
    func suspend() async throws {
        try await withPeople { database, desk, _ in
            func isOpen() async throws -> String {
                try await database.psql(
                    """
                    select set_config('request.jwt.claims', '{"sub": "\(Self.user)"}', false) <> '' and accountctl.account_open()
                    """
                )
            }
            #expect(try await isOpen() == "t")
            let outcome = try await database.withConnection { connection in
                try await desk.suspend(Self.user, until: Date() + 3600, reason: "spam", on: connection)
            }
            #expect(outcome == .suspended(sessions: 2, instead: nil))
            #expect(try await isOpen() == "f")
            let (restored, again) = try await database.withConnection { connection in
                (
                    try await desk.restore(Self.user, reason: nil, on: connection),
                    try await desk.restore(Self.user, reason: nil, on: connection)
                )
            }
            guard case .restored(let ban) = restored, let until = ban.until else {
                Issue.record("\(restored)")
                return
            }
            #expect(abs(until.timeIntervalSinceNow - 3600) < 60)
            #expect(again == .unchanged)
            #expect(try await isOpen() == "t")
            // Restoring an account whose ban has already expired changes nothing.
            try await database.psql("update auth.users set banned_until = now() - interval '1 day'")
            let ended = try await database.withConnection { connection in
                try await desk.restore(Self.user, reason: nil, on: connection)
            }
            #expect(ended == .unchanged)
        }
    }

    @Test("An account that is being erased and an unknown account are left unchanged")
    func refusals() async throws {
        try await withPeople { database, desk, _ in
            try await database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(Self.user)', 'app', 'running', now(), now() + interval '1 month', now());
                update auth.users set banned_until = now() + interval '1 day' where id = '\(Self.user)';
                """
            )
            let (refused, unknown) = try await database.withConnection { connection in
                (
                    try await desk.restore(Self.user, reason: nil, on: connection),
                    try await desk.signOut(UUID(), reason: nil, on: connection)
                )
            }
            #expect(refused == .beingErased(state: .running))
            #expect(unknown == .unknownUser)
            #expect(
                try await database.psql("select banned_until is not null from auth.users where id = '\(Self.user)'")
                    == "t"
            )
            #expect(try await database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    @Test("A listing returns each account exactly once across its pages, and filters")
    func listing() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into auth.users (instance_id, id, email, created_at, is_anonymous, banned_until)
                select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'u' || i || '@example.com',
                       now() - i * interval '1 hour', i % 10 = 0, case when i % 7 = 0 then now() + interval '1 day' end
                from generate_series(1, 4500) as i;
                """
            )
            func ids(_ filter: AccountListing.Filter, limit: Int? = nil, after: UUID? = nil) async throws -> [UUID] {
                try await database.withConnection { connection in
                    var ids: [UUID] = []
                    try AccountListing(filter).forEach(limit: limit, after: after, on: connection) { ids.append($0.id) }
                    return ids
                }
            }
            let all = try await ids(.init())
            #expect(all.count == 4500)
            #expect(Set(all).count == 4500)
            let half = try await ids(.init(), limit: 2500)
            #expect(half == Array(all.prefix(2500)))
            #expect(try await ids(.init(), after: half.last) == Array(all.dropFirst(2500)))
            var filter = AccountListing.Filter()
            filter.isAnonymous = true
            filter.isBanned = false
            filter.createdAfter = Date() - 1000 * 3600
            let expected = (1..<1000).count { $0 % 10 == 0 && $0 % 7 != 0 }
            #expect(try await ids(filter).count == expected)
            let counted = try await database.withConnection { [filter] connection in
                try AccountListing(filter).count(on: connection)
            }
            #expect(counted == expected)
        }
    }
}
