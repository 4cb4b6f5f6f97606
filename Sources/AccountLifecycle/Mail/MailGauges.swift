import MailRelay
package import Metrics
package import Postgres

/// Publishes the state of the mail streams as gauges.
///
/// Every process publishes them, like ``DeletionGauges``. If only the process that checks did so, the verdict of the
/// previous one would stay forever, and after a restart there would be none until the next check.
package struct MailGauges: Sendable {
    private let factory: any MetricsFactory
    /// The streams with published gauges.
    private var told: Set<String> = []

    /// Creates gauges that publish nothing yet.
    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        self.factory = factory
    }

    /// Publishes each stream's state, and removes the gauges of streams that no longer exist.
    ///
    /// A stream without a settled verdict has no gauges.
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
            // 1: mail gets through, 0: it does not, -1: unknown so far.
            reach(name).record(reachable.number)
            path("spf", name).record(spf?.number ?? -1)
            path("dkim", name).record(dkim?.number ?? -1)
            // The check's time may come from a clock that was ahead.
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
