package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A deletion request in a list.
package struct DeletionSummary: Sendable {
    package let id: UUID
    /// The account; nil once its id is erased.
    package let user: UUID?
    package let state: DeletionState
    private let storedSituation: JSON<Situation>?
    /// Since when the situation has lasted.
    package let situationSince: Date?
    /// The last step that was begun.
    package let step: DeletionStep?
    package let origin: String
    package let requestedAt: Date
    package let runAfter: Date
    package let lockedOutAt: Date?
    package let settleAfter: Date?
    package let legalDeadline: Date
    package let finishedAt: Date?
    package let failures: Int
    /// The outcome of the last search of a verified request, and whether it left something in accepted columns.
    private let searchOutcome: String?
    private let isLeft: Bool
    /// Apple's outcome, once there is one.
    package let apple: StepOutcome?
    /// Whether it is paused individually.
    package let isPaused: Bool
    /// Whether the account is on legal hold.
    package let isHeld: Bool
    /// Whether the time for which it waits in its state, the end of grace or of the last access token, has passed.
    package let isDue: Bool

    /// The reason why the request stands still.
    package var situation: Situation? { storedSituation?.value }

    /// The evidence on which "verified" is based; nil before that.
    package var proof: ErasureProof? { ErasureProof(searchOutcome, leaving: isLeft) }

    /// The requests in some states, the open ones with the nearest legal deadline first, then those that ended last;
    /// with `pausedOnly`, only those paused individually, and with `apple`, only those with one of these outcomes at
    /// Apple.
    package static func list(
        _ states: Set<DeletionState>,
        pausedOnly: Bool = false,
        apple: [StepOutcome] = [],
        limit: Int,
        on connection: isolated Connection
    ) throws -> [DeletionSummary] {
        // There is an index for open requests.
        let open: Statement = states.contains(where: \.isFinal) ? "" : "and r.finished_at is null"
        return try read(
            """
            where r.state = any(\(states.map(\.rawValue).sorted()))
              \(open)
              and (not \(pausedOnly) or r.paused_at is not null)
              and (\(apple.isEmpty) or r.apple_outcome = any(\(apple.map(\.rawValue))))
            \(order)
            limit \(limit)
            """,
            on: connection
        )
    }

    /// One request.
    package static func find(_ request: UUID, on connection: isolated Connection) throws -> DeletionSummary? {
        try read("where r.id = \(request)", on: connection).first
    }

    /// The request that a text names: by its own id, by the user id of its account, or by a receipt's number.
    ///
    /// Of several requests of one account, the open one is chosen, otherwise the newest.
    package static func resolve(
        _ text: String,
        hashKey: HashKey?,
        on connection: isolated Connection
    ) throws -> UUID? {
        if let number = Int64(text) {
            return try connection.first(
                "select request_id from accountctl.deletion_receipts where number = \(number)",
                as: UUID.self
            )
        }
        guard let id = LookupTerm(text, as: .userID)?.userID else { return nil }
        let hash = try hashKey.map { try SubjectHash.checked(id, key: $0, on: connection).bytes }
        return try connection.first(
            """
            select id
            from accountctl.deletion_requests
            where id = \(id) or user_id = \(id) or subject_hash = \(hash)
            order by (id = \(id)) desc, (finished_at is null) desc, requested_at desc
            limit 1
            """,
            as: UUID.self
        )
    }

    /// The account of a request; nil once its id is erased.
    package static func account(of request: UUID, on connection: isolated Connection) throws -> UUID? {
        try connection.first("select user_id from accountctl.deletion_requests where id = \(request)", as: UUID?.self)
            .flatMap(\.self)
    }

    private static let order: Statement =
        "order by (r.finished_at is not null), r.finished_at desc, r.legal_deadline, r.id"

    /// Reads the requests that a filter selects, which may include a limit: all other tables are read for those alone.
    private static func read(_ filter: Statement, on connection: isolated Connection) throws -> [DeletionSummary] {
        try connection.query(
            """
            select
                r.id, r.user_id, r.state, r.situation, r.situation_since, \(DeletionStep.begunLast), r.origin,
                r.requested_at, r.run_after, r.locked_out_at, r.settle_after, r.legal_deadline, r.finished_at, r.failures,
                search.outcome, coalesce(search.is_left, false), r.apple_outcome, r.paused_at is not null,
                \(DeletionBrakes.isHeld),
                coalesce(case when r.state = 'settling' then r.settle_after else r.run_after end <= now(), false)
            from (
                select r.id
                from accountctl.deletion_requests as r
                \(filter)
            ) as chosen
            join accountctl.deletion_requests as r on r.id = chosen.id
            left join lateral (
                select s.outcome, s.facts ? 'accepted' as is_left
                from accountctl.deletion_steps as s
                where s.request_id = r.id
                  and r.state = \(DeletionState.verified.rawValue)
                  and s.step in (\(DeletionStep.verify.rawValue), \(DeletionStep.settle.rawValue))
                order by s.finished_at desc, s.step
                limit 1
            ) as search on true
            \(order)
            """,
            into: DeletionSummary.init
        )
    }
}
