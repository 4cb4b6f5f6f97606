import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A deletion request as recorded, with the facts on which the machine decides.
struct DeletionRecord: Sendable {
    let id: UUID
    /// The account; nil once its id is erased.
    let userID: UUID?
    let legalDeadline: Date
    /// Whether an operator decided to continue without Apple.
    let withoutApple: Bool
    /// Since when Apple could not be used for this request.
    let appleWaitingSince: Date?
    /// Whether the request has already passed the hourly ceiling.
    let isCounted: Bool
    /// How often the current step has failed in a row.
    let failures: Int
    /// How often Apple has failed in a row since the account was locked out.
    let appleFailures: Int
    /// The identifiers that verify searches for, sealed.
    let sealedIdentifiers: String?
    /// The key with which they are sealed.
    let sealingKeyID: String?
    /// Whether some identifiers are lost for good: an operator gave them up with their key, or a soft deletion removed
    /// them.
    let withoutIdentifiers: Bool
    var facts: DeletionFacts

    /// Reads a request, with the time by the database's clock.
    static func load(_ id: UUID, on connection: isolated Connection) throws -> DeletionRecord? {
        try read(id, "select \(columns), false from \(source(id))", on: connection)?.record
    }

    /// The columns that ``read(_:_:on:)`` decodes, selected from `r` and `b` of ``source(_:)``.
    static let columns: Statement = """
        r.user_id,
        r.state,
        r.run_after,
        r.legal_deadline,
        r.without_apple,
        r.apple_waiting_since,
        r.counted_at is not null,
        r.locked_out_at,
        r.settle_after,
        r.failures,
        r.apple_failures,
        r.sealed_identifiers,
        r.sealing_key_id,
        r.without_identifiers,
        \(DeletionBrakes.isPaused),
        \(DeletionBrakes.isHeld),
        \(DeletionBrakes.isOtherAccount),
        clock_timestamp(),
        (
            select coalesce(
                jsonb_agg(
                    jsonb_build_object(
                        'step', s.step,
                        'at', extract(epoch from s.finished_at),
                        'took', coalesce(extract(epoch from s.finished_at - s.started_at), 0)
                    )
                ),
                '[]'
            )
            from accountctl.deletion_steps as s
            where s.request_id = r.id and s.finished_at is not null
        )
        """

    /// A finished step, as encoded in ``columns``.
    private struct Finished: Codable {
        let step: DeletionStep
        let at: Double
        let took: Double
    }

    /// A FROM clause with the request's row as `r` and the brakes' row as `b`.
    static func source(_ id: UUID) -> Statement {
        """
        accountctl.deletion_requests as r
        cross join accountctl.deletion_brakes as b
        where r.id = \(id)
        """
    }

    /// Reads the row of a statement that selects ``columns``, and whether the statement began a step.
    static func read(_ id: UUID, _ statement: Statement, on connection: isolated Connection) throws
        -> (record: DeletionRecord, isBegun: Bool)?
    {
        guard let row = try connection.first(statement, into: Row.init) else { return nil }
        return (record: row.record(of: id), isBegun: row.isBegun)
    }

    /// ``columns``, and whether the statement began a step.
    private struct Row {
        let userID: UUID?
        let state: DeletionState
        let runAfter: Date
        let legalDeadline: Date
        let withoutApple: Bool
        let appleWaitingSince: Date?
        let isCounted: Bool
        let lockedOutAt: Date?
        let settleAfter: Date?
        let failures: Int32
        let appleFailures: Int32
        let sealedIdentifiers: String?
        let sealingKeyID: String?
        let withoutIdentifiers: Bool
        let isPaused: Bool
        let isHeld: Bool
        let isOtherAccount: Bool
        let now: Date
        let finished: JSON<[Finished]>
        let isBegun: Bool

        func record(of id: UUID) -> DeletionRecord {
            let steps = finished.value.map { ($0.step, Date(timeIntervalSince1970: $0.at)) }
            return DeletionRecord(
                id: id,
                userID: userID,
                legalDeadline: legalDeadline,
                withoutApple: withoutApple,
                appleWaitingSince: appleWaitingSince,
                isCounted: isCounted,
                failures: Int(failures),
                appleFailures: Int(appleFailures),
                sealedIdentifiers: sealedIdentifiers,
                sealingKeyID: sealingKeyID,
                withoutIdentifiers: withoutIdentifiers,
                facts: DeletionFacts(
                    state: state,
                    now: now,
                    runAfter: runAfter,
                    lockedOutAt: lockedOutAt,
                    settleAfter: settleAfter,
                    isPaused: isPaused,
                    isHeld: isHeld,
                    isOtherAccount: isOtherAccount,
                    finished: Dictionary(uniqueKeysWithValues: steps),
                    preflightTook: .seconds(finished.value.first { $0.step == .preflight }?.took ?? 0)
                )
            )
        }
    }
}
