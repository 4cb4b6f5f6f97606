import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionDesk {
    func log(
        _ action: String,
        user: UUID?,
        reason: String?,
        request: UUID?,
        on connection: isolated Connection
    ) throws {
        let facts = request.map { ["request": $0.text] } ?? [:]
        try actor.log(action, on: user, reason: reason, facts: facts, connection)
    }

    /// Logs requests that were opened together, a line for each account, in one statement.
    ///
    /// `replayed` is the request in a list of erasures that the new one stands for.
    func logRequests(
        _ opened: [(user: UUID, request: UUID, replayed: UUID?)],
        reason: String?,
        on connection: isolated Connection
    ) throws {
        try HashKeyCanary.require(actor.hashKey, on: connection)
        let hashes = opened.map { SubjectHash($0.user, key: actor.hashKey).hexadecimal }
        try connection.execute(
            """
            select accountctl.log_operation(
                \(actor.name), 'deletion.request', \(actor.hashKey.id.text), decode(subject, 'hex'), \(reason),
                jsonb_strip_nulls(jsonb_build_object('request', request, \(ErasureReplay.fact)::text, replayed)),
                \(actor.ticket), \(actor.machineUser)
            )
            from unnest(
                \(hashes), \(opened.map(\.request)), \(opened.map(\.replayed))
            ) as w (subject, request, replayed)
            """
        )
    }
}
