import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Accounts without a row.
extension AccountDirectory {
    /// What is known of accounts that are gone.
    struct Gone {
        var erased: [ErasedAccount] = []
        var leaving: [LeavingAccount] = []
    }

    /// What is known of an account that is gone: by its user id, which has become a keyed hash with the receipt, by its
    /// request, by its receipt.
    ///
    /// As of one moment, so that none is missed while it goes from the one to the other.
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

    /// The requests that a term may name by their ids.
    private func requests(_ term: LookupTerm) -> ClosedRange<UUID>? { term.kind == .userID ? nil : term.ids }

    /// Requests that were carried out; they know their account by its hash.
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

    /// Requests that are under way, and whose account has gone already.
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

/// A request whose account is gone: with the moment of its erasure, or with the account that it knows still.
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
