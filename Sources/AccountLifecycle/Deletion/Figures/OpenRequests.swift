package import Postgres

/// The open requests in one state.
package struct OpenRequests: Sendable, Hashable {
    /// How near a legal deadline has to be for somebody to look at the request.
    package static let urgency = Duration.seconds(5 * 86_400)

    /// How long a request may wait for Apple before somebody has to look: most outages are over by then.
    package static let patienceWithApple = Duration.seconds(86_400)

    /// The state as text: monitoring reports one that only a later release knows, too.
    package let state: String
    /// How many there are.
    package let count: Int
    /// How long ago the oldest request was made.
    let oldest: Duration
    /// The time until the nearest legal deadline of requests without a legal hold, which forbids erasing; negative once
    /// it has passed, nil if there is none.
    package let left: Duration?
    /// How many are of accounts on legal hold.
    package let underHold: Int
    /// How long the first of those that wait for Apple has waited; nil if none does.
    package let waitedForApple: Duration?
    /// The requests whose step fails again and again; nil if there are none.
    package let failing: Failing?
    /// What stops those that need an operator, each cause once: the situation with the tables, bucket or key
    /// concerned, or the columns that hold identifiers; empty in other states.
    package let causes: [String]

    /// Requests whose step was tried several times over a while, and still fails.
    package struct Failing: Sendable, Hashable {
        /// How many there are.
        package let count: Int
        /// How long the first has failed.
        package let longest: Duration
        /// The situations that stop them.
        package let situations: [String]
    }

    /// Whether the nearest legal deadline is near.
    package var isUrgent: Bool { left.map { $0 < Self.urgency } ?? false }

    /// The open requests of each state that has any, by state.
    package static func byState(on connection: isolated Connection) throws -> [OpenRequests] {
        let failing: Statement = "(r.failures >= 3 and r.situation_since < now() - interval '15 minutes')"
        let names: Statement = """
            coalesce(
                (
                    select string_agg(distinct coalesce(part ->> 'table', part ->> 'column'), ', ')
                    from jsonb_path_query(
                        coalesce(r.situation -> 'blockers', r.situation -> 'findings'), '$[*]'
                    ) as part
                ),
                r.situation ->> 'subject'
            )
            """
        return try connection.query(
            """
            select
                r.state, count(*), extract(epoch from now() - min(r.requested_at))::bigint,
                extract(epoch from min(r.legal_deadline - now()) filter (where hold.user_id is null))::bigint,
                count(hold.user_id),
                extract(
                    epoch from now() - min(r.apple_waiting_since)
                        filter (where r.state = \(DeletionState.waitingForApple.rawValue))
                )::bigint,
                count(*) filter (where \(failing)),
                extract(epoch from now() - min(r.situation_since) filter (where \(failing)))::bigint,
                array_agg(distinct r.situation ->> 'code') filter (where \(failing)),
                array_agg(
                    distinct case
                        when r.situation ->> 'code' = r.state then coalesce(\(names), r.state)
                        else (r.situation ->> 'code') || coalesce(' (' || \(names) || ')', '')
                    end
                ) filter (
                    where r.state in (\(DeletionState.blocked.rawValue), \(DeletionState.residue.rawValue))
                    and r.situation ->> 'code' is not null
                )
            from accountctl.deletion_requests as r
            left join (select distinct user_id from accountctl.holds) as hold using (user_id)
            where r.finished_at is null
            group by r.state
            order by r.state
            """,
            into: Row.init
        )
        .map(\.requests)
    }

    /// What the statement says about a state, in the order of its columns; times in seconds.
    private struct Row {
        let state: String
        let count: Int
        let oldest: Int64
        let left: Int64?
        let underHold: Int
        let waitedForApple: Int64?
        let failing: Int
        let longestFailing: Int64?
        let situations: [String]?
        let causes: [String]?

        var requests: OpenRequests {
            OpenRequests(
                state: state,
                count: count,
                oldest: .seconds(oldest),
                left: left.map { .seconds($0) },
                underHold: underHold,
                waitedForApple: waitedForApple.map { .seconds($0) },
                failing: longestFailing.map {
                    Failing(count: failing, longest: .seconds($0), situations: situations ?? [])
                },
                causes: causes ?? []
            )
        }
    }
}
