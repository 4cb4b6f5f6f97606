import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension TransferBooks {
    /// An account that is not moved until people decide.
    package struct Conflict: Sendable, Hashable {
        /// The account.
        package let user: UUID
        /// What is in the way.
        package let reason: Reason
        /// Who has the new sub or address; nil where nobody has it any more.
        package let other: UUID?

        /// What is in the way.
        package enum Reason: String, Sendable, Hashable {
            /// Another account has the new sub or address: the person signed in to the new team before.
            case secondAccount = "second_account"
            /// The account has several Apple identities, and nobody knows which is to move.
            case severalIdentities = "several_apple_identities"
        }
    }

    /// The accounts that ``apply(progress:)`` left as they were, the first `count` of them.
    ///
    /// - Throws: ``PostgresError``.
    package func conflicts(atMost count: Int) async throws -> [Conflict] {
        let transfer = transfer
        return try await pool.withConnection { connection in
            try connection.query(
                """
                select
                    t.user_id,
                    t.reason,
                    coalesce(
                        (
                            select i.user_id
                            from auth.identities as i
                            where i.provider = 'apple'
                              and i.provider_id = t.new_sub
                              and i.user_id <> t.user_id
                        ),
                        (
                            select u.id
                            from auth.users as u
                            where u.email = t.new_email
                              and u.id <> t.user_id
                              and not u.is_sso_user
                        )
                    )
                from accountctl.apple_transfers as t
                where t.client_id = \(transfer.clientID)
                  and t.target_team = \(transfer.targetTeam)
                  and t.state = \(TransferState.conflict.rawValue)
                order by t.id
                limit \(count)
                """,
                as: (UUID, String?, UUID?).self
            )
        }.map { user, reason, other in
            // Of a second account the reason is the constraint that keeps it apart.
            let known = reason.flatMap(Conflict.Reason.init(rawValue:))
            return Conflict(user: user, reason: known ?? .secondAccount, other: other)
        }
    }
}
