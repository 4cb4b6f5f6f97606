import JobQueue
import Logging
package import MailRelay
import Postgres

/// The jobs that watch mail streams: one that finds the streams that are due, and one that checks a stream.
package struct MailCheckJob: Sendable {
    /// Provides a checker for the duration of one check.
    typealias CheckerSource =
        @Sendable (_ body: @Sendable (StreamChecker) async throws -> StreamReport) async throws -> StreamReport

    /// The arguments of one check.
    struct Arguments: Codable, Sendable {
        /// The stream's id.
        var stream: Int64
    }

    /// The check of one stream; its unique key keeps two checks of the stream from running at once.
    static let check = JobKind<Arguments>(
        "mail.check",
        queue: "mail",
        retry: .exponential(),
        timeout: .seconds(60)
    )

    /// Looks for streams that are due, every five minutes.
    static let schedule = JobKind<NoArguments>(
        "mail.schedule",
        queue: "mail",
        retry: .periodic(every: .seconds(300)),
        timeout: .seconds(60)
    )

    private let withChecker: CheckerSource
    private let relayDomains: [String]
    private let random: @Sendable () -> Double

    /// Creates jobs that check with the given name servers.
    ///
    /// `relayDomains` are written to the database's settings, where its functions read them.
    package init(_ configuration: ResolverConfiguration, relayDomains: [String] = RelayDomains.standard) {
        self.init(relayDomains: relayDomains) { body in
            try await CaresResolver.withResolver(configuration) { try await body(StreamChecker($0)) }
        }
    }

    /// Creates jobs with the given checker and source of randomness (-1 to 1).
    init(
        relayDomains: [String] = RelayDomains.standard,
        random: @escaping @Sendable () -> Double = { Double.random(in: -1...1) },
        withChecker: @escaping CheckerSource
    ) {
        self.withChecker = withChecker
        self.relayDomains = relayDomains
        self.random = random
    }

    /// Adds both kinds and the schedule to a worker's registry.
    func register(in registry: inout JobRegistry) throws {
        try registry.register(Self.check) { arguments, context in
            try await run(arguments, pool: context.pool, logger: context.logger)
        }
        try registry.register(Self.schedule) { _, context in
            try await lookOut(pool: context.pool)
        }
        try registry.schedule(Self.periodic())
    }

    static func periodic() throws -> PeriodicJob {
        try PeriodicJob(
            name: schedule.name,
            schedule: "*/5 * * * *",
            job: schedule.job(NoArguments(), uniqueKey: schedule.name)
        )
    }

    /// Enqueues the check of a stream unless one is waiting or running.
    static func enqueue(streamID: Int64, on connection: isolated Connection) throws {
        _ = try connection.one(
            """
            select accountctl.enqueue_job(
                kind => \(check.name),
                args => jsonb_build_object('stream', \(streamID)),
                queue => \(check.queue),
                unique_key => 'mail.check:' || \(streamID)
            )
            """,
            as: Int64.self
        )
    }

    /// Enqueues the checks that are due, and deletes old history.
    ///
    /// No check is scheduled two days ahead. If one is, a clock ran ahead, so the check is enqueued now instead of
    /// being missed until then.
    func lookOut(pool: Pool) async throws -> JobOutcome {
        let domains = JSON(relayDomains)
        try await pool.withTransaction { connection in
            try connection.execute(
                """
                insert into accountctl.settings as held (name, value)
                values ('mail.relay_domains', \(domains))
                on conflict (name) do update
                set value = excluded.value, updated_at = now()
                where held.value is distinct from excluded.value
                """
            )
            let due = try connection.query(
                """
                select id
                from accountctl.mail_streams
                where next_check_at <= now()
                   or next_check_at > now() + interval '2 days'
                order by next_check_at
                limit 1000
                """,
                as: Int64.self
            )
            for id in due { try Self.enqueue(streamID: id, on: connection) }
            _ = try MailCheckStore.prune(on: connection)
        }
        return .completed()
    }

    /// Checks one stream, stores the result, and alerts on a change that two checks agree on.
    func run(_ arguments: Arguments, pool: Pool, logger: Logger) async throws -> JobOutcome {
        let id = arguments.stream
        let record = try await pool.withConnection { connection in
            try MailStreamStore.find(id: id, on: connection)
        }
        guard let record else { return .cancelled(reason: "the stream was removed") }
        let start = ContinuousClock.now
        // No connection is held while waiting for DNS.
        let report = try await withChecker { checker in
            await checker.check(record.stream, by: start.advanced(by: StreamChecker.timeLimit))
        }
        let took = ContinuousClock.now - start
        let jitter = random()
        let settled = try await pool.withConnection { connection in
            try await MailCheckStore.record(
                report,
                streamID: id,
                took: took,
                jitter: jitter,
                on: connection
            )
        }
        guard let settled else {
            // The next attempt finds out which; a stream declared anew was not enqueued while this job existed.
            return .retry(after: .zero, reason: "the stream was removed or declared again meanwhile")
        }
        MailMetrics.checked(report, isChange: settled.change != nil, took: took)
        if let change = settled.change { Self.alert(change, of: record.stream.name, report, logger) }
        return .completed()
    }

    /// Logs an alert that monitoring can match, besides the metric; a first verdict is logged only if it is bad.
    private static func alert(
        _ change: StreamStanding.Change,
        of stream: String,
        _ report: StreamReport,
        _ logger: Logger
    ) {
        guard change.from != nil || change.to.reachable != .yes else { return }
        let level: Logger.Level = change.to.reachable == .yes ? .warning : .error
        logger.log(
            level: level,
            "the verdict on a mail stream changed",
            metadata: [
                "stream": .string(stream),
                "from": .string(
                    change.from.map { "\($0.reachable.rawValue) (\($0.spf.rawValue), \($0.dkim.rawValue))" } ?? "none"
                ),
                "to": .string(
                    "\(change.to.reachable.rawValue) (\(change.to.spf.rawValue), \(change.to.dkim.rawValue))"
                ),
                "findings": .string(report.findings.map(\.code.rawValue).joined(separator: " ")),
            ]
        )
    }
}
