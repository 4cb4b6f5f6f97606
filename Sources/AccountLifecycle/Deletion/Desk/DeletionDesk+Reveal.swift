package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension DeletionDesk {
    /// Opens the sealed identifiers of a request, for an operator who has to remove what is left of its account.
    ///
    /// The access is logged before anything is shown.
    ///
    /// - Returns: The identifiers; none if none are sealed: before a worker has begun, after they were given up, and once
    ///   the request has ended.
    /// - Throws: `SealingError`; `NamedSubject`; `PostgresError`.
    package func revealIdentifiers(
        of request: UUID,
        with keys: KeyRing,
        reason: String?,
        on connection: isolated Connection
    ) throws -> [Identifier] {
        let row = try connection.first(
            """
            select user_id, sealed_identifiers
            from accountctl.deletion_requests
            where id = \(request)
              and user_id is not null
              and sealed_identifiers is not null
            """,
            as: (UUID, String).self
        )
        guard let (user, sealed) = row else { return [] }
        let vault = IdentifierVault(keys: keys, hashKey: actor.hashKey)
        let identifiers = try vault.open(sealed, request: request, user: user)
        try log("deletion.reveal", user: user, reason: reason, request: request, on: connection)
        return identifiers
    }
}
