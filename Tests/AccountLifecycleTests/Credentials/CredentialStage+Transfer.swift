import Postgres
import SignInWithApple
import Testing

@testable import AccountLifecycle

/// The app goes to another team.
extension CredentialStage {
    static let recipient = "RECIPIENT1"

    var transfer: TeamTransfer { TeamTransfer(clientID: Self.clientID, targetTeam: Self.recipient) }

    func sender(retriesRefused: Bool = false) throws -> TransferRuns {
        transferRuns(try #require(apple[Self.clientID]), retriesRefused: retriesRefused)
    }

    /// On pages that are soon at their end.
    func transferRuns(_ client: SignInWithApple.AppleClient, retriesRefused: Bool = false) -> TransferRuns {
        var runs = TransferRuns(
            pool: pool,
            client: client,
            transfer: transfer,
            callsPerSecond: 1000,
            retriesRefused: retriesRefused
        )
        runs.pageRows = 2
        return runs
    }

    /// Adds an identity of another of Apple's names for the account, three hours old.
    func link(_ sub: String, to person: Person) async throws {
        try await sql(
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
            values (
                \(sub), \(person.id), jsonb_build_object('sub', \(sub)::text), 'apple', now() - interval '3 hours',
                now() - interval '3 hours', now() - interval '3 hours'
            )
            """
        )
    }

    /// Another team's app: an identity that is no business of this transfer.
    func link(_ sub: String, to person: Person, first: Bool) async throws {
        try await sql(
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
            values (
                \(sub), \(person.id), jsonb_build_object('sub', \(sub)::text), 'apple',
                now() - interval '3 hours' - \(first ? 1 : -1) * interval '1 hour', now(), now()
            )
            """
        )
    }
}
