import Postgres
import SignInWithApple

extension CredentialChecks {
    /// Deletes the tokens among the refused ones that are of the team that the app left, and returns the others.
    ///
    /// Apple refuses all of these to the new team, so a refusal does not mean that the person left, and nobody is
    /// signed out for it. The tokens of an account that is locked out belong to its deletion.
    ///
    /// Nothing is deleted until somebody holds a token of the new team: a stand-in for Apple has another team, too, and
    /// refuses every token. Such refusals prove nothing until then, also that of the only token held.
    func forgetFormer(
        _ refused: [HeldCredential],
        of clientID: String,
        _ tally: inout Tally
    ) async throws -> [HeldCredential] {
        let former = refused.filter { services.apple.hasLeft($0.teamID, clientID) }
        guard !former.isEmpty else { return refused }
        let (ids, sealed, team) = (former.map(\.id), former.map(\.sealed), services.apple[clientID]?.identity.teamID)
        let isShown = try await services.pool.withConnection { connection -> Bool in
            let isShown = try connection.one(
                """
                select exists (
                    select
                    from accountctl.apple_credentials
                    where client_id = \(clientID)
                      and team_id = \(team)
                )
                """,
                as: Bool.self,
                deadline: .forAllAccounts
            )
            guard isShown else { return false }
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
            return true
        }
        if isShown { tally.gone += former.count } else { tally.inconclusive += former.count }
        return refused.filter { !ids.contains($0.id) }
    }
}
