import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

/// Fixtures and queries for tests of revocations that outlive their account.
extension Stage {
    /// Erases an account while Apple is unavailable.
    func erasedWithoutApple() async throws -> UUID {
        let request = try await handedOver(of: try await fullAccount())
        #expect(try await drive(request) == .ended(.verified))
        return request
    }

    /// Makes a request whose credential was handed over to later attempts, and whose account still exists.
    func handedOver(of person: Person) async throws -> UUID {
        let request = try await self.request(person)
        for endpoint in [Endpoint.appleToken, .appleRevoke] { sandbox.faults.set(.status(503), for: endpoint) }
        // Sets the state that a check of Apple would set, since no check is made here.
        try await sql("update accountctl.deletion_requests set state = 'waiting_for_apple' where id = \(request)")
        #expect(try await proceed(request, withoutApple: true) == .done)
        try await driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
        #expect(try await revocation(of: request) == "waiting 0 t pending")
        return request
    }

    /// The state, the attempts, whether the token is kept, and the outcome that the person is told.
    func revocation(of request: UUID) async throws -> String {
        try await value(
            """
            select concat_ws(' ', p.state, p.attempts, p.sealed_token is not null, r.apple_outcome)
            from accountctl.pending_revocations as p
            join accountctl.deletion_requests as r on r.id = p.request_id
            where r.id = \(request)
            """,
            as: String.self
        )
    }

    /// What the receipt says about Apple, at the top level and in the step at Apple.
    func appleInReceipt(of request: UUID) async throws -> String {
        try await value(
            """
            select concat_ws(' ', d.document ->> 'apple', s.step ->> 'outcome', s.step -> 'facts' ->> 'counts')
            from accountctl.deletion_receipts as d
            cross join lateral jsonb_array_elements(d.document -> 'steps') as s (step)
            where d.request_id = \(request) and s.step ->> 'step' = 'revoke_apple'
            """,
            as: String.self
        )
    }

    /// Moves the times of the last attempts `hours` into the past.
    func letRevocationsAge(hours: Int) async throws {
        try await sql(
            "update accountctl.pending_revocations set last_tried_at = last_tried_at - \(hours) * interval '1 hour'"
        )
    }

    /// Adds copies of the oldest pending revocation.
    func addRevocations(_ count: Int, of clientID: String) async throws {
        let columns = "request_id, sealed_token, sealed_subject, sealing_key_id, binding, give_up_at"
        try await sql(
            """
            insert into accountctl.pending_revocations (client_id, \(unsafeSQL: columns))
            select \(clientID), \(unsafeSQL: columns)
            from accountctl.pending_revocations, generate_series(1, \(count))
            where id = (select min(id) from accountctl.pending_revocations)
            """
        )
    }
}
