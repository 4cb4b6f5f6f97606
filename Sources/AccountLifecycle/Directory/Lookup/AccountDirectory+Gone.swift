import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Lookups of accounts that have no row any more.
extension AccountDirectory {
    /// What is known of accounts that are gone.
    struct Gone {
        var erased: [ErasedAccount] = []
        var leaving: [LeavingAccount] = []
    }

    /// What is known of a deleted account, found by its user id, by its request or by its receipt.
    ///
    /// The receipt replaces the user id by a keyed hash. One statement reads both states from one snapshot, so that an
    /// account that moves from one to the other is not missed.
    func gone(_ term: LookupTerm, on connection: isolated Connection) throws -> Gone {
        guard term.ids != nil || term.receipt != nil else { return Gone() }
        let account = term.kind == .request ? nil : term.userID
        let hash = try account.flatMap { id in
            try hashKey.map { try SubjectHash.checked(id, key: $0, on: connection).bytes }
        }
        let rows = try connection.query(
            "(\(erased(term, hash))) union all (\(leaving(term)))",
            into: GoneRow.init
        )
        return Gone(erased: rows.compactMap(\.erased), leaving: rows.compactMap(\.leaving))
    }

    /// The range of request ids that a term may name.
    private func requests(_ term: LookupTerm) -> ClosedRange<UUID>? { term.kind == .userID ? nil : term.ids }

    /// Requests that were carried out; they know their account by its keyed hash.
    private func erased(_ term: LookupTerm, _ hash: [UInt8]?) -> Statement {
        let requests = requests(term)
        return """
            select r.id, r.requested_at, r.finished_at, e.number, null::uuid, r.state, r.legal_deadline, null::text
            from accountctl.deletion_requests as r
            left join accountctl.deletion_receipts as e on e.request_id = r.id
            where r.state = 'verified'
              and (
                  r.subject_hash = \(hash)
                  or r.id between \(requests?.lowerBound) and \(requests?.upperBound)
                  or r.id = (select request_id from accountctl.deletion_receipts where number = \(term.receipt))
              )
            order by r.finished_at desc
            limit \(limit + 1)
            """
    }

    /// Requests under way whose account's row is deleted already.
    private func leaving(_ term: LookupTerm) -> Statement {
        let accounts = term.kind == .request ? nil : term.ids
        let requests = requests(term)
        return """
            select r.id, r.requested_at, null::timestamptz, null::bigint, r.user_id, r.state, r.legal_deadline,
                   \(DeletionStep.begunLast)
            from accountctl.deletion_requests as r
            where r.finished_at is null
              and (
                  r.user_id between \(accounts?.lowerBound) and \(accounts?.upperBound)
                  or r.id between \(requests?.lowerBound) and \(requests?.upperBound)
              )
              and not exists (select from auth.users as u where u.id = r.user_id)
            order by r.legal_deadline
            limit \(limit + 1)
            """
    }
}

/// A request whose account is gone: with the time of the erasure, or with the user id while the request still has it.
private struct GoneRow {
    let request: UUID
    let requestedAt: Date
    let erasedAt: Date?
    let receipt: Int64?
    let account: UUID?
    let state: DeletionState
    let legalDeadline: Date
    let step: DeletionStep?

    var erased: ErasedAccount? {
        erasedAt.map { ErasedAccount(request: request, requestedAt: requestedAt, erasedAt: $0, receipt: receipt) }
    }

    var leaving: LeavingAccount? {
        guard erasedAt == nil, let account else { return nil }
        let deletion = DeletionInBrief(
            request: request,
            state: state,
            step: step,
            requestedAt: requestedAt,
            legalDeadline: legalDeadline
        )
        return LeavingAccount(id: account, deletion: deletion)
    }
}
