import Foundation
import MailRelay
import Postgres
import Testing

@testable import AccountLifecycle

@Suite("A mail stream that is declared anew", .timeLimit(.minutes(5)))
struct ReplacedStreamTests {
    @Test("it keeps its verdict and history, and is checked at once")
    func declaredAnew() async throws {
        try await MailStreamTests.withPool { pool, _ in
            let id = try await MailStreamTests.add(MailStreamTests.stream, to: pool)
            for _ in 0..<2 {
                _ = try await pool.withConnection { connection in
                    try await MailCheckStore.record(
                        MailStreamTests.report(.ok, .ok),
                        streamID: id,
                        took: .zero,
                        jitter: 0,
                        on: connection
                    )
                }
            }
            let former = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
            let before = try #require(former)
            var changed = MailStreamTests.stream
            changed.envelopeDomain = MailStreamTests.name("mail.app.test")
            changed.provider = MailStream.Provider()
            changed.selectors = []
            changed.registration = .notStated
            let anew = changed
            let same = try await pool.withTransaction { connection in
                try MailStreamStore.add(anew, registrations: nil, replacing: true, on: connection)
            }
            #expect(same == id)
            let found = try await pool.withConnection { try MailStreamStore.find(named: "news", on: $0) }
            let after = try #require(found)
            #expect(after.id == id && after.stream == anew && after.registrations == nil)
            #expect(after.standing == before.standing && after.standing.known?.reachable == .yes)
            #expect(after.createdAt == before.createdAt && after.nextCheckAt < before.nextCheckAt)
            let checks = try await pool.withConnection { try MailCheckStore.latest(9, ofStream: id, on: $0) }
            #expect(checks.count == 2)

            // A check that was under way has looked at the former declaration.
            _ = try await pool.withConnection { connection in
                try await MailCheckStore.record(
                    MailStreamTests.report(.ok, .ok),
                    streamID: id,
                    took: .seconds(3600),
                    jitter: 0,
                    on: connection
                )
            }
            let last = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
            let overtaken = try #require(last)
            #expect(overtaken.nextCheckAt == overtaken.checkedAt)
        }
    }
}
