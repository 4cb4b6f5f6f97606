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

    /// The law forbids erasing them: a court order would otherwise keep the alarm for all other deadlines on for
    /// months.
    @Test func whatIsUnderALegalHoldHasNoDeadline() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.withPool { pool in
                try await database.psql(
                    """
                    insert into auth.users (id) select gen_random_uuid() from generate_series(1, 2);
                    insert into accountctl.holds (user_id, reason, placed_by) select id, 'an order', 'olga' from auth.users;
                    insert into accountctl.deletion_requests
                        (user_id, origin, state, requested_at, run_after, legal_deadline)
                    select id, 'app', 'held', now() - interval '40 days', now(), now() - interval '9 days'
                    from auth.users
                    """
                )
                let held = try await published(from: pool)
                #expect(value("deletion_legal_deadline_seconds", held) == 2_678_400)
                #expect(value("deletion_requests_open{state=\"held\"}", held) == 2)
                #expect(value("deletion_requests_under_hold{state=\"held\"}", held) == 2)
                #expect(value("deletion_requests_under_hold{state=\"grace\"}", held) == 0)
                try await database.psql(
                    """
                    update accountctl.holds
                    set user_id = null, released_by = 'olga', released_at = now()
                    where id = (select min(id) from accountctl.holds)
                    """
                )
                let released = try await published(from: pool)
                let left = value("deletion_legal_deadline_seconds", released) ?? 0
                #expect((-9 * 86_400 - 60 ... -9 * 86_400).contains(left))
                #expect(value("deletion_requests_under_hold{state=\"held\"}", released) == 1)
            }
        }
    }

    /// People who returned do not count as failures of Apple, old outcomes are left out, and the `refused` state of an
    /// old release counts as given up.
    @Test func tellsWhatAppleDidNotTake() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.withPool { pool in
                let oldest = "apple_oldest_pending_revocation_seconds"
                func count(_ state: String, _ lines: [String]) -> Double? {
                    value("apple_pending_revocations{state=\"\(state)\"}", lines)
                }
                let states = ["waiting", "revoked", "given_up", "person_returned"]
                let none = try await published(from: pool)
                #expect(states.map { count($0, none) } == [0, 0, 0, 0])
                #expect(value(oldest, none) == 0)
                try await database.psql(
                    """
                    insert into accountctl.pending_revocations (
                        client_id, state, sealed_token, sealing_key_id, created_at, give_up_at, settled_at, last_outcome
                    )
                    select 'com.example.app', state, case when ended is null then 'x' end, case when ended is null then 'k' end,
                        now() - interval '100 days', now(), now() - ended, outcome
                    from (
                        values ('waiting', null::interval, null), ('waiting', null, 'apple_misconfigured'),
                            ('revoked', interval '1 day', 'revoked'), ('given_up', '1 day', 'apple_misconfigured'),
                            ('refused', '89 days', 'apple_misconfigured'), ('given_up', '91 days', 'apple_unreachable'),
                            ('given_up', '2 days', 'person_returned')
                    ) as given (state, ended, outcome);
                    update accountctl.pending_revocations
                    set created_at = now() - interval '2 days'
                    where state = 'waiting' and last_outcome is null;
                    update accountctl.pending_revocations
                    set created_at = now() - interval '3 days'
                    where last_outcome = 'apple_misconfigured' and state = 'waiting'
                    """
                )
                let some = try await published(from: pool)
                #expect(states.map { count($0, some) } == [2, 1, 2, 1])
                #expect((3 * 86_400..<3 * 86_400 + 60).contains(value(oldest, some) ?? 0))
            }
        }
    }
}
