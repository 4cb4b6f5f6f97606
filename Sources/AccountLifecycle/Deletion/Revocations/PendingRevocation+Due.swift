import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PendingRevocation {
    /// A revocation that is due.
    struct Due: Sendable {
        let id: Int64
        let request: UUID?
        let clientID: String
        /// The team with whose key the token was obtained, or last found valid; nil if that is not known.
        let teamID: String?
        let binding: UUID
        let token: String
        /// The sealed name of the person for whom the token was issued, if that was known.
        let subject: String?
        /// Whether it was tried for long enough.
        let isOver: Bool
    }

    /// Finds the revocations that are due.
    static func findDue(with services: DeletionServices) async throws -> [Due] {
        try await services.pool.withConnection { connection in
            try connection.query(
                """
                select
                    id, request_id, client_id, team_id, binding, sealed_token, sealed_subject,
                    give_up_at <= clock_timestamp()
                from accountctl.pending_revocations
                where state = 'waiting'
                  and not \(isStopped("request_id"))
                  and (
                      last_tried_at is null
                      or last_tried_at + least(3600 * power(2, least(attempts - 1, 5)), 86400) * interval '1 second'
                          <= clock_timestamp()
                  )
                -- One of each client id in turn, so that one whose calls Apple limits does not fill every batch; and
                -- first those to be given up, which would otherwise wait behind those that cannot be tried.
                order by
                    row_number() over (
                        partition by client_id
                        order by give_up_at > clock_timestamp(), last_tried_at nulls first, id
                    ),
                    last_tried_at nulls first,
                    id
                limit 50
                """,
                as: (Int64, UUID?, String, String?, UUID, String, String?, Bool).self
            )
            .map { id, request, clientID, teamID, binding, token, subject, isOver in
                Due(
                    id: id,
                    request: request,
                    clientID: clientID,
                    teamID: teamID,
                    binding: binding,
                    token: token,
                    subject: subject,
                    isOver: isOver
                )
            }
        }
    }
}
