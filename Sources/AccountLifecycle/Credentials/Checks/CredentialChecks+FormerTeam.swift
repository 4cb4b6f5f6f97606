import Postgres
import SignInWithApple

extension CredentialChecks {
    /// Deletes the tokens among the refused ones that are of the team that the app left, and returns the others.
    ///
    /// Apple refuses all of these to the new team, so a refusal does not mean that the person left, and nobody is
    /// signed out for it. The tokens of an account that is locked out belong to its deletion.
    ///
    /// A token is deleted once somebody's was obtained or found valid later with the new team's key: a stand-in for Apple
    /// has another team, too, and so has a worker with the former team's settings. Until then its refusal proves nothing,
    /// also that of the only token held.
    func forgetFormer(
        _ refused: [HeldCredential],
        of clientID: String,
        _ tally: inout Tally
    ) async throws -> [HeldCredential] {
        let former = refused.filter { services.apple.hasLeft($0.teamID, clientID) }
        guard !former.isEmpty else { return refused }
        let (ids, team) = (former.map(\.id), services.apple[clientID]?.identity.teamID)
        let shown = try await services.pool.withConnection { connection in
            try connection.query(
                """
                select c.id
                from accountctl.apple_credentials as c
                where c.id = any(\(ids))
                  and greatest(c.obtained_at, c.last_live_at) < (
                      select max(greatest(held.obtained_at, held.last_live_at))
                      from accountctl.apple_credentials as held
                      where held.client_id = \(clientID)
                        and held.team_id = \(team)
                  )
                """,
                as: Int64.self,
                deadline: .forAllAccounts
            )
        }
        let gone = former.filter { shown.contains($0.id) }
        try await forget(gone)
        tally.gone += gone.count
        tally.inconclusive += former.count - gone.count
        return refused.filter { !ids.contains($0.id) }
    }

    private func forget(_ former: [HeldCredential]) async throws {
        guard !former.isEmpty else { return }
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
    }
}
