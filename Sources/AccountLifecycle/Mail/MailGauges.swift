import MailRelay
package import Metrics
package import Postgres

/// How the mail streams stand, for monitoring.
///
/// Every process tells it for itself, like ``DeletionGauges``: told by whoever checks, the verdict of one that did so
/// before would stand for ever, and after a restart none would until the next check.
package struct MailGauges: Sendable {
    private let factory: any MetricsFactory
    /// The streams whose gauges stand.
    private var told: Set<String> = []

    /// Tells nothing yet.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    /// Tells what is held of each stream, and takes back what was told of those that are gone.
    ///
    /// A stream of which nothing is held yet has no gauges.
    ///
    /// - Throws: `PostgresError`.
    package mutating func publish(from pool: Pool) async throws {
        let streams = try await pool.withConnection { connection in
            try connection.query(
                """
                select
                    name, reachable, spf, dkim,
                    extract(epoch from clock_timestamp() - confirmed_at)::double precision
                from accountctl.mail_streams
                where reachable is not null
                """,
                as: (String, Reachability, PathVerdict?, PathVerdict?, Double?).self
            )
        }
        for (name, reachable, spf, dkim, age) in streams {
            // 1: mail gets through, 0: it does not, -1: it was never known.
            reach(name).record(reachable.number)
            path("spf", name).record(spf?.number ?? -1)
            path("dkim", name).record(dkim?.number ?? -1)
            // The check may have been stamped by a clock that is ahead.
            if let age { self.age(name).record(max(age, 0)) }
        }
        let known = Set(streams.map(\.0))
        for name in told.subtracting(known) {
            for gauge in [reach(name), path("spf", name), path("dkim", name), age(name)] { gauge.destroy() }
        }
        told = known
    }

    private func reach(_ stream: String) -> Gauge {
        Gauge(label: "accountctl_mail_stream_reachable", dimensions: [("stream", stream)], factory: factory)
    }

    private func path(_ path: String, _ stream: String) -> Gauge {
        Gauge(label: "accountctl_mail_path_ok", dimensions: [("stream", stream), ("path", path)], factory: factory)
    }

    private func age(_ stream: String) -> Gauge {
        Gauge(label: "accountctl_mail_verdict_age_seconds", dimensions: [("stream", stream)], factory: factory)
    }
}

extension Reachability {
    fileprivate var number: Double {
        switch self {
        case .yes: 1
        case .no: 0
        case .unknown: -1
        }
    }
}

extension PathVerdict {
    fileprivate var number: Double {
        switch self {
        case .ok: 1
        case .weak: 0.5
        case .broken: 0
        case .unknown: -1
        }
    }
}
