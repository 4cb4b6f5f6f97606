import Foundation
import Postgres
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct ErasureReplayTests {
    /// The auth server's clock was ahead when they signed up: a replay took them for accounts that somebody had brought
    /// back on purpose, and who was erased lived on after a restore.
    @Test func anAccountThatSeemsYoungerThanItsRequestIsTheOneMeant() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into auth.users (id, created_at)
                select md5('u' || n)::uuid, now() + interval '1 hour' from generate_series(1, 3) as n;
                select accountctl.open_deletion_request(id, 'operator') from auth.users
                """
            )
            let key = try HashKey(.named("hash1"))
            let listed = try await database.withConnection { connection in
                var all: [ListedErasure] = []
                try ListedErasure.forEach(since: nil, key: key, on: connection) { all.append($0) }
                return all
            }
            try #require(listed.count == 3)
            // The backup has none of the requests, of which two had been carried out.
            try await database.psql("delete from accountctl.deletion_requests")
            var list = ErasureList()
            list.add(listed[0], at: .distantPast)
            list.add(Self.verified(listed[1], after: 7200), at: .distantPast)
            // The account of this id was created after the end.
            list.add(Self.verified(listed[2], after: 60), at: .distantPast)
            let replay = try await database.withConnection { [list] connection in
                try ErasureReplay.plan(list, key: key, on: connection)
            }
            let acts = Dictionary(uniqueKeysWithValues: replay.steps.map { ($0.listed.request, $0.act) })
            let wanted: [UUID: ErasureReplay.Act] = [listed[0].request: .reopen, listed[1].request: .erase]
            #expect(acts == wanted)
            #expect(replay.others == 1)
        }
    }

    /// A second restore loses that the erasure was repeated after the first one, and cancelled.
    @Test func whatWasCancelledAfterAnErasureIsNotErasedAgain() async throws {
        try await TestDatabase.with(.migrated) { database in
            let (stays, goes) = (UUID(), UUID())
            for user in [stays, goes] {
                try await database.psql(
                    "insert into auth.users (id, created_at) values ('\(user)', now() - interval '1 year')"
                )
            }
            let key = try HashKey(.named("hash1"))
            let now = Date()
            func request(of user: UUID, _ state: DeletionState, hoursAgo hours: Double) -> ListedErasure {
                let requestedAt = now - hours * 3600
                return ListedErasure(
                    request: UUID(),
                    state: state,
                    subject: SubjectHash(user, key: key),
                    requestedAt: requestedAt,
                    runAfter: requestedAt,
                    finishedAt: requestedAt + 60,
                    legalDeadline: requestedAt + 30 * 86_400,
                    receipt: nil,
                    isPaused: false,
                    isHeld: false
                )
            }
            var list = ErasureList()
            list.add(request(of: stays, .verified, hoursAgo: 9), at: now - 8 * 3600)
            list.add(request(of: stays, .cancelled, hoursAgo: 5), at: now)
            // Changed their mind twice.
            list.add(request(of: goes, .cancelled, hoursAgo: 9), at: now - 8 * 3600)
            list.add(request(of: goes, .verified, hoursAgo: 5), at: now)
            let replay = try await database.withConnection { [list] connection in
                try ErasureReplay.plan(list, key: key, on: connection)
            }
            #expect(replay.steps.map(\.user) == [goes])
            #expect(replay.steps.map(\.act) == [.erase])
        }
    }

    /// A listed request as if it had been carried out, some seconds after it was made.
    private static func verified(_ listed: ListedErasure, after seconds: TimeInterval) -> ListedErasure {
        let requestedAt = Date()
        return ListedErasure(
            request: listed.request,
            state: .verified,
            subject: listed.subject,
            requestedAt: requestedAt,
            runAfter: requestedAt,
            finishedAt: requestedAt + seconds,
            legalDeadline: listed.legalDeadline,
            receipt: nil,
            isPaused: false,
            isHeld: false
        )
    }
}
