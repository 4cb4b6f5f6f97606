import Foundation
import JobQueue
import MailRelay
import Postgres
import Testing

@testable import AccountLifecycle

@Suite("A mail stream that is declared again", .timeLimit(.minutes(5)))
struct ReplacedStreamTests {
    private static var anew: MailStream {
        var stream = MailStreamTests.stream
        stream.envelopeDomain = MailStreamTests.name("mail.app.test")
        stream.provider = MailStream.Provider()
        stream.selectors = []
        stream.registration = .notStated
        return stream
    }

    private func replace(in pool: Pool) async throws -> Int64 {
        try await pool.withTransaction { connection in
            try MailStreamStore.add(Self.anew, registrations: nil, replacing: true, on: connection)
        }
    }

    private func record(_ report: StreamReport, _ id: Int64, in pool: Pool) async throws -> MailCheckStore.Settled? {
        try await pool.withConnection { connection in
            try await MailCheckStore.record(report, streamID: id, took: .zero, jitter: 0, on: connection)
        }
    }

    private func find(_ id: Int64, in pool: Pool) async throws -> MailStreamRecord {
        let found = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
        return try #require(found)
    }

    private func checkCount(_ id: Int64, in pool: Pool) async throws -> Int {
        try await pool.withConnection { try MailCheckStore.latest(9, ofStream: id, on: $0).count }
    }

    @Test("it keeps its verdict and history, and is checked at once")
    func declaredAnew() async throws {
        try await MailStreamTests.withPool { pool, _ in
            let id = try await MailStreamTests.add(MailStreamTests.stream, to: pool)
            for _ in 0..<2 { _ = try await record(MailStreamTests.report(.ok, .ok), id, in: pool) }
            let before = try await find(id, in: pool)
            #expect(try await replace(in: pool) == id)
            let after = try await find(id, in: pool)
            #expect(after.stream == Self.anew && after.registrations == nil)
            #expect(after.standing == before.standing && after.standing.known?.reachable == .yes)
            #expect(after.createdAt == before.createdAt && after.nextCheckAt < before.nextCheckAt)
            #expect(try await checkCount(id, in: pool) == 2)
        }
    }

    @Test("a check of the former declaration does not count towards a verdict on the new one")
    func pendingVerdict() async throws {
        try await MailStreamTests.withPool { pool, _ in
            let id = try await MailStreamTests.add(MailStreamTests.stream, to: pool)
            for _ in 0..<2 { _ = try await record(MailStreamTests.report(.ok, .ok), id, in: pool) }
            _ = try await record(MailStreamTests.report(.broken, .broken), id, in: pool)
            #expect(try await find(id, in: pool).standing.pending?.spf == .broken)
            _ = try await replace(in: pool)
            #expect(try await find(id, in: pool).standing.pending == nil)
            let broken = MailStreamTests.report(.broken, .broken, of: Self.anew)
            #expect(try await record(broken, id, in: pool)?.change == nil)
            #expect(try await record(broken, id, in: pool)?.change?.to.reachable == .no)
        }
    }

    @Test("a check that a new declaration overtakes is not recorded, and is made again")
    func overtakenCheck() async throws {
        try await MailStreamTests.withPool { pool, _ in
            let id = try await MailStreamTests.add(MailStreamTests.stream, to: pool)
            let job = MailCheckJob(random: { 0 }) { body in
                _ = try await replace(in: pool)
                return try await body(StreamChecker(ZoneResolver([:])))
            }
            let arguments = MailCheckJob.Arguments(stream: id)
            let first = try await job.run(arguments, pool: pool, logger: MailStreamTests.logger)
            #expect(first == .retry(after: .zero, reason: "the stream was removed or declared again meanwhile"))
            #expect(try await checkCount(id, in: pool) == 0)
            #expect(try await find(id, in: pool).checkedAt == nil)
            // A second replacement with the same declaration does not invalidate the check.
            let second = try await job.run(arguments, pool: pool, logger: MailStreamTests.logger)
            #expect(second == .completed())
            #expect(try await checkCount(id, in: pool) == 1)
        }
    }
}
