import Foundation
import JobQueue
import Logging
import MailRelay
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite("Mail streams in the database", .timeLimit(.minutes(5)))
struct MailStreamTests {
    static func name(_ text: String) -> DomainName { (try? DomainName(dotted: text)) ?? .root }

    static let logger = Logger.silent

    static var stream: MailStream {
        MailStream(
            name: "news",
            fromDomain: name("app.test"),
            envelopeDomain: name("send.app.test"),
            provider: MailStream.Provider(
                name: "Esp",
                includes: [name("_spf.esp.test")],
                returnPathTarget: name("ret.esp.test"),
                addresses: [IPNetwork("192.0.2.0/24"), IPNetwork("2001:db8::/32")].compactMap { $0 }
            ),
            selectors: [MailStream.Selector("s", target: name("s.esp.test")), MailStream.Selector("r", key: "AAAA")],
            registration: .names([name("app.test")])
        )
    }

    static func withPool<Result: Sendable>(_ body: @Sendable (Pool, TestDatabase) async throws -> Result) async throws
        -> Result
    {
        try await TestDatabase.with(.migrated) { database in
            let configuration = PoolConfiguration(connection: database.configuration)
            return try await Pool.withPool(configuration, logger: logger) { pool in try await body(pool, database) }
        }
    }

    static func add(_ stream: MailStream, to pool: Pool) async throws -> Int64 {
        try await pool.withTransaction { connection in
            let registrations = [MailStreamRecord.Registration(name: "app.test", at: .now, by: "me")]
            return try MailStreamStore.add(stream, registrations: registrations, on: connection)
        }
    }

    @Test("a stream comes back as it was declared, and is checked at once")
    func roundTrip() async throws {
        try await Self.withPool { pool, _ in
            let id = try await Self.add(Self.stream, to: pool)
            let found = try await pool.withConnection { try MailStreamStore.find(named: "news", on: $0) }
            #expect(found?.id == id)
            #expect(found?.stream == Self.stream)
            #expect(found?.registrations?.map(\.by) == ["me"])
            #expect(found?.standing == StreamStanding())
            let jobs = try await pool.withConnection { connection in
                try connection.query(
                    "select unique_key from accountctl.jobs where kind = 'mail.check'",
                    as: String.self
                )
            }
            #expect(jobs == ["mail.check:\(id)"])
            await #expect(throws: MailStreamError(code: .nameTaken, name: "news")) {
                try await Self.add(Self.stream, to: pool)
            }
            var dotted = Self.stream
            dotted.name = "a.b"
            let bad = dotted
            await #expect(throws: MailStreamError(code: .badName, name: "a.b")) { try await Self.add(bad, to: pool) }
            #expect(try await pool.withConnection { try MailStreamStore.remove(named: "news", on: $0) })
            #expect(try await !pool.withConnection { try MailStreamStore.remove(named: "news", on: $0) })
        }
    }

    static func report(
        _ spf: PathVerdict,
        _ dkim: PathVerdict,
        of stream: MailStream = MailStreamTests.stream,
        answer: String = "v=spf1 -all"
    ) -> StreamReport {
        StreamReport(
            stream: stream,
            verdict: StreamVerdict(spf: spf, dkim: dkim, envelopeRegistered: true, fromRegistered: true),
            findings: spf == .broken
                ? [Finding(.spfMissing, at: name("send.app.test"), "there is no policy", seen: ["x"])] : [],
            answers: [
                (
                    Question(name("send.app.test"), .txt),
                    .records(LookupOutcome.Answer(records: [.text([Array(answer.utf8)])], ttl: 60))
                )
            ]
        )
    }

    @Test("two agreeing checks settle a verdict, an unknown result only ages it, and differences are reported")
    func history() async throws {
        try await Self.withPool { pool, _ in
            let id = try await Self.add(Self.stream, to: pool)
            @Sendable func record(_ report: StreamReport, hour: Double) async throws -> MailCheckStore.Settled? {
                let at = Date(timeIntervalSince1970: 1_900_000_000 + hour * 3600)
                return try await pool.withConnection { connection in
                    try await MailCheckStore.record(
                        report,
                        streamID: id,
                        at: at,
                        took: .milliseconds(12),
                        jitter: 0,
                        on: connection
                    )
                }
            }
            #expect(try await record(Self.report(.ok, .ok), hour: 0)?.change == nil)
            #expect(try await record(Self.report(.ok, .ok), hour: 1)?.change?.to.reachable == .yes)
            #expect(try await record(Self.report(.unknown, .unknown), hour: 2)?.change == nil)
            var held = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
            #expect(held?.standing.known?.spf == .ok)
            #expect(held?.standing.unknownSince != nil)
            #expect(try await record(Self.report(.broken, .broken, answer: "other"), hour: 3)?.change == nil)
            #expect(
                try await record(Self.report(.broken, .broken, answer: "other"), hour: 4)?.change?.to.reachable == .no
            )
            held = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
            #expect(held?.standing.known?.reachable == .no)

            let checks = try await pool.withConnection { try MailCheckStore.latest(10, ofStream: id, on: $0) }
            #expect(checks.map(\.isChange) == [true, false, false, true, false])
            let difference = MailCheckDifference(from: checks[3], to: checks[0])
            #expect(
                difference.verdicts == ["SPF path: ok -> broken", "DKIM path: ok -> broken", "reachable: yes -> no"]
            )
            #expect(difference.appeared.map(\.code) == ["spf.missing"] && difference.gone.isEmpty)
            #expect(difference.answers.map(\.question) == ["send.app.test TXT"])
            #expect(MailCheckDifference(from: checks[1], to: checks[0]).isEmpty)

            let pruned = try await pool.withConnection { connection in
                try MailCheckStore.prune(at: Date(timeIntervalSince1970: 1_900_000_000 + 200 * 86_400), on: connection)
            }
            #expect(pruned == 4)
        }
    }

    @Test("the schedule enqueues each due check once, and a check is carried out, recorded and reported")
    func jobs() async throws {
        try await Self.withPool { pool, _ in
            let id = try await Self.add(Self.stream, to: pool)
            let zone = ZoneResolver([:])
            let job = MailCheckJob(relayDomains: ["relay.test"], random: { 0 }) { body in
                try await body(StreamChecker(zone))
            }
            for _ in 0..<3 { #expect(try await job.lookOut(pool: pool) == .completed()) }
            let waiting = try await pool.withConnection { connection in
                try connection.one("select count(*) from accountctl.jobs where kind = 'mail.check'", as: Int64.self)
            }
            #expect(waiting == 1)
            let arguments = MailCheckJob.Arguments(stream: id)
            for _ in 0..<2 {
                #expect(try await job.run(arguments, pool: pool, logger: Self.logger) == .completed())
            }
            let held = try await pool.withConnection { try MailStreamStore.find(id: id, on: $0) }
            #expect(held?.standing.known?.reachable == .no)
            let gone = MailCheckJob.Arguments(stream: id + 1)
            #expect(
                try await job.run(gone, pool: pool, logger: Self.logger) == .cancelled(reason: "the stream was removed")
            )
            let isRelay = try await pool.withConnection { connection in
                try connection.one("select accountctl.is_relay_address('a@relay.test')", as: Bool.self)
            }
            #expect(isRelay)
        }
    }

    @Test("a check that a fast clock put off for longer than any schedule does is made now")
    func farAhead() async throws {
        try await Self.withPool { pool, database in
            let id = try await Self.add(Self.stream, to: pool)
            let job = MailCheckJob(random: { 0 }) { body in try await body(StreamChecker(ZoneResolver([:]))) }
            @Sendable func waiting() async throws -> Int64 {
                try await pool.withConnection { connection in
                    try connection.one("select count(*) from accountctl.jobs where kind = 'mail.check'", as: Int64.self)
                }
            }
            for (time, count) in [("1 year", 1), ("1 day", 0), ("-1 minute", 1)] as [(String, Int64)] {
                try await database.psql(
                    """
                    delete from accountctl.jobs;
                    update accountctl.mail_streams set next_check_at = now() + interval '\(time)'
                    """
                )
                #expect(try await job.lookOut(pool: pool) == .completed())
                #expect(try await waiting() == count, "\(time)")
            }
            // The check itself is recorded by the database's clock.
            let arguments = MailCheckJob.Arguments(stream: id)
            #expect(try await job.run(arguments, pool: pool, logger: Self.logger) == .completed())
            let isNow = try await pool.withConnection { connection in
                try connection.one(
                    """
                    select next_check_at = checked_at + interval '1 hour'
                       and checked_at between now() - interval '5 minutes' and now()
                    from accountctl.mail_streams
                    """,
                    as: Bool.self
                )
            }
            #expect(isNow)
        }
    }

    @Test("forwarding, standing and age decide who can be written to, each with its reason")
    func canSend() async throws {
        try await Self.withPool { pool, database in
            let relay = UUID()
            let plain = UUID()
            let claimed = UUID()
            try await database.psql(
                """
                insert into auth.users (id, email)
                values ('\(relay)', 'a@privaterelay.appleid.com'), ('\(plain)', 'b@icloud.com'), ('\(claimed)', 'c@icloud.com');
                insert into auth.identities (provider_id, user_id, provider, identity_data)
                values ('sub', '\(claimed)', 'apple', '{"email": "c@icloud.com", "is_private_email": "true"}');
                """
            )
            @Sendable func ask(_ user: UUID) async throws -> String {
                try await pool.withConnection { connection in
                    let found = try RelayDirectory.canSend(stream: "news", userID: user, on: connection)
                    return "\(found.answer.rawValue): \(found.reason)"
                }
            }
            #expect(try await ask(relay) == "unknown: there is no such stream")
            #expect(try await ask(UUID()) == "no: there is no such account")
            let id = try await Self.add(Self.stream, to: pool)
            #expect(try await ask(plain) == "yes: not a relay address")
            #expect(try await ask(relay) == "unknown: the stream has not been checked twice yet")
            for _ in 0..<2 {
                _ = try await pool.withConnection { connection in
                    try await MailCheckStore.record(
                        Self.report(.ok, .broken),
                        streamID: id,
                        at: .now,
                        took: .zero,
                        jitter: 0,
                        on: connection
                    )
                }
            }
            #expect(try await ask(relay) == "yes: the relay takes mail of this stream: SPF ok, DKIM broken")
            #expect(try await ask(claimed).hasPrefix("yes: the relay takes"))
            @Sendable func note(_ forwards: Bool, _ age: Double) async throws -> Bool {
                try await pool.withConnection { connection in
                    try RelayDirectory.note(
                        userID: relay,
                        address: "A@PrivateRelay.appleid.com",
                        forwards: forwards,
                        happenedAt: Date(timeIntervalSinceNow: -age),
                        appleClaim: true,
                        on: connection
                    )
                }
            }
            #expect(try await note(false, 100))
            #expect(try await ask(relay) == "no: the person has switched forwarding off")
            // An older event that comes late changes nothing.
            #expect(try await !note(true, 200))
            #expect(try await ask(relay).hasPrefix("no: the person"))
            #expect(try await note(true, 50))
            #expect(try await ask(relay).hasPrefix("yes:"))
            try await database.psql("update accountctl.mail_streams set confirmed_at = now() - interval '8 days'")
            #expect(try await ask(relay) == "unknown: the last check that could tell is older than a week")

            let counts = try await pool.withConnection { try RelayDirectory.counts(on: $0) }
            #expect(
                Set(counts.map { "\($0.domain) \($0.knownBy) \($0.forwarding) \($0.accounts)" })
                    == ["privaterelay.appleid.com claim on 1", "icloud.com claim unknown 1"]
            )
            let listed = try await pool.withConnection {
                try RelayDirectory.entries(forwarding: .on, limit: 10, on: $0)
            }
            #expect(listed.map(\.userID) == [relay])
            // Deleting the account deletes its relay address.
            try await database.psql("delete from auth.users where id = '\(relay)'")
            let left = try await pool.withConnection { connection in
                try connection.one("select count(*) from accountctl.relay_addresses", as: Int64.self)
            }
            #expect(left == 0)
        }
    }
}
