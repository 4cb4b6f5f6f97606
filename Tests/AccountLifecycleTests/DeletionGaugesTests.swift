import Postgres
import Telemetry
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite struct DeletionGaugesTests {
    private func published(from pool: Pool) async throws -> [String] {
        let metrics = MetricsRegistry()
        try await DeletionGauges.publish(from: pool, factory: metrics)
        return metrics.text().split(whereSeparator: \.isNewline).map(String.init)
    }

    private func value(_ series: String, _ lines: [String]) -> Double? {
        lines.first { $0.hasPrefix(series + " ") }.flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    @Test func tellsTheWholeOfAllStates() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.withPool { pool in
                let none = try await published(from: pool)
                #expect(value("deletion_requests_open{state=\"grace\"}", none) == 0)
                #expect(value("deletion_oldest_open_seconds", none) == 0)
                #expect(value("deletion_legal_deadline_seconds", none) == 2_678_400)
                #expect(value("deletion_paused", none) == 0)
                try await database.psql(
                    """
                    insert into accountctl.deletion_requests
                        (user_id, origin, state, requested_at, run_after, legal_deadline)
                    select gen_random_uuid(), 'app', state, now() - age, now(), now() + rest
                    from (
                        values ('grace', interval '1 hour', interval '30 days'),
                            ('held', interval '3 days', interval '20 days'), ('held', '1 day', '2 days')
                    ) as given(state, age, rest);
                    update accountctl.deletion_requests
                    set failures = 3, situation = '{"code": "failing"}', situation_since = now() - interval '1 hour'
                    where legal_deadline < now() + interval '3 days';
                    update accountctl.deletion_brakes set paused_at = now(), paused_by = 'olga'
                    """
                )
                let some = try await published(from: pool)
                #expect(value("deletion_requests_open{state=\"grace\"}", some) == 1)
                #expect(value("deletion_requests_open{state=\"held\"}", some) == 2)
                #expect(value("deletion_requests_failing{state=\"held\"}", some) == 1)
                #expect(value("deletion_requests_failing{state=\"grace\"}", some) == 0)
                #expect((3 * 86_400..<3 * 86_400 + 60).contains(value("deletion_oldest_open_seconds", some) ?? 0))
                let left = value("deletion_legal_deadline_seconds", some) ?? 0
                #expect((2 * 86_400 - 60...2 * 86_400).contains(left))
                #expect(value("deletion_paused", some) == 1)
            }
        }
    }
}
