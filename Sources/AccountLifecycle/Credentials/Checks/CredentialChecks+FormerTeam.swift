import Postgres
import SignInWithApple

extension CredentialChecks {
    /// Deletes the tokens among the refused ones that are of the team that the app left, and returns the others.
    ///
    /// Apple refuses all of these to the new team, so a refusal does not mean that the person left, and nobody is
    /// signed out for it. The tokens of an account that is locked out belong to its deletion.
    func forgetFormer(_ refused: [HeldCredential]) async throws -> [HeldCredential] {
        let former = refused.filter { services.apple.hasLeft($0.teamID, $0.clientID) }
        guard !former.isEmpty else { return refused }
        let (ids, sealed) = (former.map(\.id), former.map(\.sealed))
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                """
                delete from accountctl.apple_credentials as c
                using unnest(\(ids)::bigint[], \(sealed)::text[]) as refused (id, sealed_token)
                where c.id = refused.id
                  and c.sealed_token = refused.sealed_token
                  and not exists (
                      select
                      from accountctl.deletion_requests as r
                      where r.user_id = c.user_id
                        and r.finished_at is null
                        and r.locked_out_at is not null
                  )
                """
            )
        }
        return refused.filter { !ids.contains($0.id) }
    }
}
