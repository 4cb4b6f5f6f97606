import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension TransferBooks {
    /// An account that is not moved until a person decides.
    package struct Conflict: Sendable, Hashable {
        /// The account.
        package let user: UUID
        /// The reason for the conflict.
        package let reason: Reason
        /// The account that has the new sub or address; nil if none has it any more.
        package let other: UUID?

        /// The reason for a conflict.
        package enum Reason: String, Sendable, Hashable {
            /// Another account has the new sub or address: the person signed in to the new team before being moved.
            case secondAccount = "second_account"
            /// The account has several Apple identities, and it is unknown which to move.
            case severalIdentities = "several_apple_identities"
        }
    }

    /// The accounts that ``apply(progress:)`` left unchanged, at most `count` of them.
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
            // For a second account the stored reason is the unique constraint that was violated.
            let known = reason.flatMap(Conflict.Reason.init(rawValue:))
            return Conflict(user: user, reason: known ?? .secondAccount, other: other)
        }
    }
}
