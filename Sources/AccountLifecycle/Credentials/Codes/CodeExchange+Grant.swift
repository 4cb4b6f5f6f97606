import JobQueue
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides where a grant goes: to its account, nowhere, or to the pending revocations.
extension CodeExchange {
    /// Stores the credential and wipes the code in one transaction; refuses a grant that is for another person.
    func store(_ grant: AppleGateway.Grant, for id: Int64, _ code: Code, _ fence: JobFence?) async throws
        -> Outcome
    {
        let user = code.user
        return try await write(fence) { connection in
            // Held until commit: a concurrent deletion of the account either waits and finds the credential, or came
            // first.
            let isThere = try connection.first(
                "select true from auth.users where id = \(user) for key share",
                as: Bool.self
            )
            guard isThere == true else { return try keep(grant, of: code, on: connection) }
            // Passing somebody else's code must not let anyone obtain or revoke that person's sign-in.
            let isOwn = try connection.one("select \(Self.speaks(grant, for: user))", as: Bool.self)
            if isOwn {
                try AppleCredential.store(
                    grant.refreshToken,
                    user: user,
                    clientID: grant.clientID,
                    teamID: grant.teamID,
                    subject: grant.subject,
                    keys: services.vault.keys,
                    on: connection
                )
            }
            let state: AuthorizationCodeState = isOwn ? .exchanged : .wrongAccount
            try Self.wipe(id, state, on: connection)
            return .settled(state)
        }
    }

    /// An SQL expression: whether a grant is for an account.
    ///
    /// It is if its sub is that of the account's identity, or the sub that a team transfer will give that identity,
    /// unless another account has this sub.
    private static func speaks(_ grant: AppleGateway.Grant, for user: UUID) -> Statement {
        """
        (
            exists (
                select
                from auth.identities
                where provider = 'apple' and provider_id = \(grant.subject) and user_id = \(user)
            )
            or \(grant.subject) in (\(TransferBooks.comingSubs(of: "\(user)")))
            and not \(AppleCredential.isAnothers(anyOf: "array[\(grant.subject)]::text[]", than: "\(user)"))
        )
        """
    }

    /// Keeps the grant of an account that was deleted while Apple answered, to be revoked later; the code went with it.
    private func keep(
        _ grant: AppleGateway.Grant,
        of code: Code,
        on connection: isolated Connection
    ) throws -> Outcome {
        guard code.subjects.contains(grant.subject) else { return .settled(.wrongAccount) }
        let subject = services.vault.subject(code.user)
        let request = try connection.first(
            """
            select id
            from accountctl.deletion_requests
            where (user_id = \(code.user) or (subject_hash = \(subject.bytes) and subject_key_id = \(subject.keyID)))
              and state <> 'cancelled'
            order by requested_at desc
            limit 1
            for no key update
            """,
            as: UUID.self
        )
        try connection.execute(
            PendingRevocation.keeping(
                grant.refreshToken,
                clientID: grant.clientID,
                teamID: grant.teamID,
                subject: grant.subject,
                request: request,
                from: "(select true) as granted",
                with: services
            )
        )
        if let request { try AppleReckoning.countPending(of: request, on: connection) }
        return .handedOver
    }
}
