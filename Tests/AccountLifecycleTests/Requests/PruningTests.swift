import AccountLifecycle
import Foundation
import Postgres
import Testing

/// Upkeep removes records that have served their purpose, and keeps those that something still depends on.
@Suite(.timeLimit(.minutes(5))) struct PruningTests {
    /// Once the last revocation of a request is settled, one that was given up decides the outcome reported for all of
    /// them.
    @Test func whatBecameOfARevocationIsKeptForAQuarterAndForAsLongAsAnotherWaits() async throws {
        try await Stage.with { stage in
            var requests: [UUID] = []
            for name in ["anna", "berta"] { requests.append(try await stage.request(try await stage.signUp(name))) }
            try await stage.sql(
                """
                insert into accountctl.pending_revocations
                    (request_id, client_id, state, settled_at, sealed_token, sealing_key_id, give_up_at)
                values
                    (\(requests[0]), 'old', 'given_up', now() - interval '91 days', null, null, now()),
                    (\(requests[0]), 'new', 'given_up', now() - interval '89 days', null, null, now()),
                    (\(requests[1]), 'beside', 'given_up', now() - interval '91 days', null, null, now()),
                    (\(requests[1]), 'waiting', 'waiting', null, 'sealed', 'test1', now() + interval '1 day')
                """
            )
            try await DeletionUpkeep.run(with: stage.services())
            let left = try await stage.value(
                "select string_agg(client_id, ' ' order by id) from accountctl.pending_revocations",
                as: String.self
            )
            #expect(left == "new beside waiting")
        }
    }

    /// Each record stands for a grant that may still be live: only a newer such record of the same account and client
    /// id replaces it.
    @Test func aGrantThatMayLiveIsForgottenForANewerOfItsOwnAlone() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            let codes: [(Person, String?, String, Int)] = [
                (person, nil, "grant_unknown", 5), (person, "a", "grant_unknown", 4), (person, "b", "grant_unknown", 3),
                (person, "a", "grant_unknown", 2), (other, "b", "grant_unknown", 2), (person, "b", "exchanged", 0),
            ]
            for (person, clientID, state, days) in codes {
                try await stage.sql(
                    """
                    insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                    values (\(person.id), \(clientID), \(state), now() - \(days) * interval '1 day')
                    """
                )
            }
            try await DeletionUpkeep.run(with: stage.services())
            let left = try await stage.value(
                """
                select string_agg(concat_ws(' ', client_id, extract(day from now() - settled_at)), ', ' order by id)
                from accountctl.authorization_codes
                """,
                as: String.self
            )
            #expect(left == "5, b 3, a 2, b 2, b 0")
        }
    }

    /// The request is evidence: its receipt refers to it for good.
    @Test func whatWasErasedLongAgoStays() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            #expect(try await stage.drive(request) == .ended(.verified))
            try await stage.sql("update accountctl.deletion_requests set finished_at = now() - interval '2 years'")
            try await DeletionUpkeep.run(with: stage.services())
            #expect(try await stage.state(request) == "verified")
            #expect(try await stage.count("select from accountctl.deletion_receipts") == 1)
        }
    }
}
