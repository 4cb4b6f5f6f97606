import Foundation
import Postgres
import Sandbox
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct CredentialBooksTests {
    @Test func eventsAreListedShownAndReplayed() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                insert into accountctl.credential_events (source, kind, client_id, user_id, notification_id)
                values
                    ('apple', 'consent-revoked', 'com.example.app', \(anna.id), 'a'),
                    ('apple', 'email-disabled', 'com.example.app', \(anna.id), 'b'),
                    ('apple', 'account-deleted', 'com.example.app', null, 'c')
                """
            )
            try await stage.sql(
                "update accountctl.credential_events set handled_at = now(), outcome = 'stale' where kind <> 'email-disabled'"
            )
            try await stage.pool.withConnection { connection in
                var filter = CredentialBooks.EventFilter()
                let all = try CredentialBooks.events(filter, on: connection)
                #expect(all.map(\.kind) == ["account-deleted", "email-disabled", "consent-revoked"])
                filter.user = anna.id
                filter.outcomes = ["waiting"]
                #expect(try CredentialBooks.events(filter, on: connection).map(\.kind) == ["email-disabled"])
                filter.outcomes = ["waiting", "stale"]
                filter.kinds = ["email-disabled", "consent-revoked"]
                let two = try CredentialBooks.events(filter, on: connection).map(\.kind)
                #expect(two == ["email-disabled", "consent-revoked"])
                filter.outcomes = []
                filter.kinds = ["consent-revoked"]
                let first = try #require(CredentialBooks.events(filter, on: connection).first)
                #expect(try CredentialBooks.event(first.id, on: connection) == first)
                #expect(try CredentialBooks.event(-1, on: connection) == nil)

                #expect(try await CredentialBooks.replay(first.id, on: connection) == .enqueued)
                #expect(try await CredentialBooks.replay(all[1].id, on: connection) == .notKept)
                #expect(try await CredentialBooks.replay(all[0].id, on: connection) == .unknownAccount)
                #expect(try await CredentialBooks.replay(-1, on: connection) == .unknown)
            }
            // The replayed event follows the rules: it is newer than the sign-in, which is an hour old.
            #expect(try await CredentialEvents(stage.services()).handleWaiting() == 2)
            #expect(try await stage.traces(of: anna).sessions == 0)
        }
    }

    /// Replacing a credential resets what its checks have found, since that was about the former token.
    @Test func aNewCredentialHasNoPast() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                update accountctl.apple_credentials
                set doubts = 3, checked_at = now(), last_live_at = now(), team_id = 'OTHERTEAM1'
                """
            )
            try await stage.pool.withConnection { connection in
                try AppleCredential.store(
                    Secret("r.new"),
                    user: anna.id,
                    clientID: CredentialStage.clientID,
                    teamID: stage.sandbox.apple.teamID,
                    subject: anna.sub,
                    keys: stage.keys,
                    on: connection
                )
                let held = try #require(CredentialBooks.credentials(of: anna.id, on: connection).first)
                #expect(held.doubts == 0)
                #expect(held.checkedAt == nil)
                #expect(held.lastLiveAt == nil)
                let team = try connection.one("select team_id from accountctl.apple_credentials", as: String.self)
                #expect(team == stage.sandbox.apple.teamID)
            }
        }
    }

    @Test func credentialsAreListed() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            _ = try await stage.signUp()
            try await stage.pool.withConnection { connection in
                #expect(try CredentialBooks.credentials(of: nil, on: connection).count == 2)
                let held = try #require(CredentialBooks.credentials(of: anna.id, on: connection).first)
                #expect(held.clientID == CredentialStage.clientID)
                #expect(held.sealingKey == "k1")
                #expect(try CredentialBooks.credential(held.id, on: connection) == held)
                #expect(try CredentialBooks.credential(-1, on: connection) == nil)
                #expect(try CredentialBooks.credentials(of: nil, clientID: "other", on: connection).isEmpty)
            }
        }
    }
}
