package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A deletion request as the list of erasures contains it; the list is kept outside the database, and names the account
/// by a keyed hash.
package struct ListedErasure: Sendable, Hashable {
    package let request: UUID
    package let state: DeletionState
    /// The account.
    package let subject: SubjectHash
    /// When it was made; of an open one whose account seemed younger than that, when the account was created.
    package let requestedAt: Date
    package let runAfter: Date
    package let finishedAt: Date?
    package let legalDeadline: Date
    /// The number of the receipt.
    package let receipt: Int64?
    /// Whether the request was paused individually.
    package let isPaused: Bool
    /// Whether its account was on legal hold.
    package let isHeld: Bool

    package init(
        request: UUID,
        state: DeletionState,
        subject: SubjectHash,
        requestedAt: Date,
        runAfter: Date,
        finishedAt: Date?,
        legalDeadline: Date,
        receipt: Int64?,
        isPaused: Bool,
        isHeld: Bool
    ) {
        self.request = request
        self.state = state
        self.subject = subject
        self.requestedAt = requestedAt
        self.runAfter = runAfter
        self.finishedAt = finishedAt
        self.legalDeadline = legalDeadline
        self.receipt = receipt
        self.isPaused = isPaused
        self.isHeld = isHeld
    }

    /// Whether somebody stopped it on purpose.
    var isStopped: Bool { isPaused || isHeld }

    /// When an account that the request means may have been created at the latest.
    ///
    /// An account may seem younger than its request, by the auth server's clock. No request is verified while its id
    /// has another account, so one from before the end is the one that was erased.
    var lastMoment: Date {
        state == .verified ? max(requestedAt, finishedAt ?? requestedAt) : requestedAt
    }
}

extension ListedErasure {
    /// How many requests one statement reads.
    private static let page = 5000

    /// Passes every request that was not pruned to `body`, by its id; changes nothing.
    ///
    /// - Parameters:
    ///   - since: leaves out requests that ended before; nil for none.
    ///   - key: hashes the accounts whose requests still hold their id.
    ///   - connection: of a role to which row-level security does not apply.
    ///   - body: takes a request.
    /// - Throws: `HiddenAccounts`; ``NewHashKey``; ``OtherHashKey``; ``NamelessRequest``; `PostgresError`, and what
    ///   `body` throws.
    package static func forEach(
        since: Date?,
        key: HashKey,
        on connection: isolated Connection,
        _ body: (ListedErasure) throws -> Void
    ) throws {
        try HiddenAccounts.refuse(on: connection)
        // Hashes made with the wrong key file match nothing for whoever restores with the right one.
        try HashKeyCanary.refuseNew(key, on: connection)
        var last: UUID?
        while true {
            let rows = try rows(after: last, since: since, key: key, on: connection)
            for row in rows { try body(row) }
            guard rows.count == page else { return }
            last = rows.last?.request
        }
    }

    private static func rows(
        after: UUID?,
        since: Date?,
        key: HashKey,
        on connection: isolated Connection
    ) throws -> [ListedErasure] {
        try connection.query(
            """
            select
                r.id, r.state, r.user_id, r.subject_key_id, r.subject_hash,
                -- A replay compares this with the account. The deadline always comes later.
                greatest(
                    r.requested_at, case when r.account_created_at < r.legal_deadline then r.account_created_at end
                ),
                r.run_after, r.finished_at, r.legal_deadline, t.number,
                r.finished_at is null and r.paused_at is not null,
                r.finished_at is null and \(DeletionBrakes.isHeld)
            from accountctl.deletion_requests as r
            left join accountctl.deletion_receipts as t on t.request_id = r.id
            where (\(after)::uuid is null or r.id > \(after))
              and (r.finished_at is null or \(since)::timestamptz is null or r.finished_at >= \(since))
            order by r.id
            limit \(page)
            """,
            as: (
                UUID, DeletionState, UUID?, String?, [UInt8]?, Date, Date, Date?, Date, Int64?, Bool, Bool
            ).self
        )
        .map { row in
            let (
                request, state, user, keyID, hash, requestedAt, runAfter, finishedAt, legalDeadline, receipt, isPaused,
                isHeld
            ) = row
            let subject = user.map { SubjectHash($0, key: key) } ?? SubjectHash(keyID: keyID, bytes: hash)
            // If it were left out, a list that claims to be complete would lack it.
            guard let subject else { throw NamelessRequest(request: request) }
            return ListedErasure(
                request: request,
                state: state,
                subject: subject,
                requestedAt: requestedAt,
                runAfter: runAfter,
                finishedAt: finishedAt,
                legalDeadline: legalDeadline,
                receipt: receipt,
                isPaused: isPaused,
                isHeld: isHeld
            )
        }
    }
}
