package import Postgres
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension DeletionDesk {
    /// How many of some ids are accounts, how many of those need attention, and what is known of the other ids.
    package struct Survey: Sendable, Equatable {
        /// Ids that name an account.
        package var accounts = 0
        /// Accounts with an open deletion request.
        package var open = 0
        /// Accounts under a legal hold: their requests wait for its release.
        package var held = 0
        /// Accounts that are gone while their deletion request is open.
        package var leaving = 0
        /// Accounts that are gone and whose erasure has ended.
        package var erased = 0

        package init() {}

        package static func + (left: Survey, right: Survey) -> Survey {
            var sum = left
            sum.accounts += right.accounts
            sum.open += right.open
            sum.held += right.held
            sum.leaving += right.leaving
            sum.erased += right.erased
            return sum
        }
    }

    /// Looks at accounts before their deletion is requested; pass some thousands at a time.
    ///
    /// - Throws: `PostgresError`.
    package func survey(_ users: some Sequence<UUID>, on connection: isolated Connection) throws -> Survey {
        let users = Array(users)
        let (accounts, open, held) = try connection.one(
            """
            select count(*),
                   count(*) filter (where exists (
                       select from accountctl.deletion_requests as r where r.user_id = u.id and r.finished_at is null
                   )),
                   count(*) filter (where exists (select from accountctl.holds as h where h.user_id = u.id))
            from auth.users as u
            where u.id = any(\(users))
            """,
            as: (Int, Int, Int).self
        )
        let gone = accounts < users.count ? try gone(users, on: connection) : [:]
        var survey = Survey()
        survey.accounts = accounts
        survey.open = open
        survey.held = held
        survey.erased = gone.values.count { $0 == .erased }
        survey.leaving = gone.count - survey.erased
        return survey
    }

    /// The records about ids that are no longer accounts; none for an id that never was one.
    private func gone(_ users: [UUID], on connection: isolated Connection) throws -> [UUID: Opening] {
        let hashes = users.map { SubjectHash($0, key: actor.hashKey).hexadecimal }
        let rows = try connection.query(
            """
            select w.user_id, r.id, r.finished_at is not null
            from unnest(\(users), \(hashes)) as w (user_id, hash)
            cross join lateral (
                (
                    select id, finished_at
                    from accountctl.deletion_requests
                    where user_id = w.user_id and finished_at is null
                )
                union all
                (
                    select id, finished_at
                    from accountctl.deletion_requests
                    where subject_hash = decode(w.hash, 'hex') and state = 'verified'
                )
                limit 1
            ) as r
            where not exists (select from auth.users as u where u.id = w.user_id)
            """,
            as: (UUID, UUID, Bool).self
        )
        return Dictionary(rows.map { ($0, $2 ? .erased : .found($1)) }) { first, _ in first }
    }

    /// The states of those requests that are in this database; pass some thousands at a time.
    ///
    /// - Throws: `PostgresError`.
    package static func known(
        _ requests: some Sequence<UUID>,
        on connection: isolated Connection
    ) throws -> [UUID: DeletionState] {
        let rows = try connection.query(
            """
            select id, state
            from accountctl.deletion_requests
            where id = any(\(Array(requests)))
            """,
            as: (UUID, DeletionState).self
        )
        return Dictionary(rows.map { ($0, $1) }) { first, _ in first }
    }

    /// The accounts of those requests that have not ended; pass some thousands at a time.
    ///
    /// - Throws: `PostgresError`.
    package static func accounts(of requests: some Sequence<UUID>, on connection: isolated Connection) throws -> [UUID]
    {
        try connection.query(
            """
            select user_id
            from accountctl.deletion_requests
            where id = any(\(Array(requests)))
              and finished_at is null
              and user_id is not null
            """,
            as: UUID.self
        )
    }

    /// Rejects the operator's reason if it names one of some accounts; pass some thousands at a time.
    ///
    /// Call it for all accounts before the first deletion is requested: a log line would otherwise contain what
    /// identifies another account.
    ///
    /// - Throws: `NamedSubject`; `PostgresError`.
    package func refuseWords(
        _ reason: String?,
        naming users: some Sequence<UUID>,
        on connection: isolated Connection
    ) throws {
        try NamedSubject.refuse(Array(users), reason: reason, by: actor, on: connection)
    }

    /// Opens a request for each account, or finds the open one; all in one transaction, with a log line for each.
    ///
    /// - Parameters:
    ///   - users: some hundreds at a time: the transaction holds the locks of all.
    ///   - reason: why, for each request and log line.
    ///   - grace: the grace period; nil for that of the settings.
    ///   - connection: the connection to use.
    /// - Returns: The result for each account, by user id.
    /// - Throws: `NamedSubject`; `PostgresError`. Nothing was done then, unless the commit is in doubt. Repeating is
    ///   safe.
    package func requestMany(
        _ users: [UUID],
        reason: String?,
        grace: Duration? = nil,
        on connection: isolated Connection
    ) async throws -> [UUID: Opening] {
        // Ordered, so that two runs over the same accounts wait for each other instead of deadlocking.
        let users = users.sorted { $0.uuidString < $1.uuidString }
        return try await connection.transaction { connection in
            try refuseWords(reason, naming: users, on: connection)
            let rows = try connection.query(
                """
                select w.user_id, r.request_id, r.opened
                from unnest(\(users)) with ordinality as w (user_id, place)
                join auth.users as u on u.id = w.user_id
                cross join lateral accountctl.open_deletion_request(
                    w.user_id, 'operator', \(reason), \(grace?.wholeSeconds) * interval '1 second'
                ) as r
                order by w.place
                """,
                as: (UUID, UUID, Bool).self
            )
            var openings: [UUID: Opening] = [:]
            for (user, request, opened) in rows { openings[user] = opened ? .opened(request) : .found(request) }
            try logRequests(rows.map { (user: $0.0, request: $0.1, replayed: nil) }, reason: reason, on: connection)
            let others = users.filter { openings[$0] == nil }
            let gone = others.isEmpty ? [:] : try gone(others, on: connection)
            for user in others { openings[user] = gone[user] ?? .unknownUser }
            return openings
        }
    }
}
