import Postgres
import SignInWithApple
import Testing

@testable import AccountLifecycle

/// Support for tests in which the app moves to another team.
extension CredentialStage {
    static let recipient = "RECIPIENT1"

    var transfer: TeamTransfer { TeamTransfer(clientID: Self.clientID, targetTeam: Self.recipient) }

    func sender(retriesRefused: Bool = false) throws -> TransferRuns {
        transferRuns(try #require(apple[Self.clientID]), retriesRefused: retriesRefused)
    }

    /// Makes transfer runs with small pages, so that a test covers several.
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

    /// Records that a person has moved to the new team.
    func move(_ person: Person) async throws {
        try await sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state)
            values (
                \(person.id), \(transfer.clientID), \(transfer.targetTeam), \("former " + person.sub), \(person.text),
                \(person.sub), \(TransferState.applied.rawValue)
            )
            """
        )
    }

    /// Makes a person's tokens those of a team that the app left.
    func makeFormer(_ person: Person) async throws {
        try await sql("update accountctl.apple_credentials set team_id = 'FORMERTEAM' where user_id = \(person.id)")
    }

    /// Adds a second Apple identity, with another sub, that is three hours old.
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

    /// Adds an identity of another team's app, which this transfer must not touch.
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
