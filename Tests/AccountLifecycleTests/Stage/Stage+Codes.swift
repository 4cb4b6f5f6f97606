import AccountLifecycle
import Foundation
import Postgres
import Sandbox

/// Authorization codes that apps submit, and the outcome recorded for Apple.
extension Stage {
    /// The outcome at Apple as recorded in the request, its step and its receipt.
    func appleTold(_ request: UUID) async throws -> [String?] {
        try await value(
            """
            select array[
                r.apple_outcome,
                (select outcome from accountctl.deletion_steps as s where s.request_id = r.id and s.step = 'revoke_apple'),
                (select document ->> 'apple' from accountctl.deletion_receipts as d where d.request_id = r.id)
            ]
            from accountctl.deletion_requests as r
            where r.id = \(request)
            """,
            as: [String?].self
        )
    }

    /// Submits a code as the app does; by default a new code of the person's.
    func submitCode(
        _ code: String? = nil,
        of person: Person,
        clientID: String = Self.clientID
    ) async throws -> Int64 {
        let code = try code ?? sandbox.apple.issueCode(clientID: clientID, sub: person.sub)
        _ = try await call(person, "select public.submit_apple_authorization_code(\(code), \(clientID))")
        return try await lastCode()
    }

    /// The code that was submitted last.
    func lastCode() async throws -> Int64 {
        try await value("select max(id) from accountctl.authorization_codes", as: Int64.self)
    }

    /// Exchanges a code, and runs `act` when Apple has answered but nothing is recorded yet.
    func exchange(
        _ code: Int64,
        onAnswer act: @escaping @Sendable () async throws -> Void
    ) async throws -> CodeExchange.Outcome {
        let services = self.services { point in
            if point == .afterExchange { try await act() }
        }
        return try await CodeExchange(services).run(code)
    }

    func expire(_ code: Int64, triedBefore: String) async throws {
        try await sql(
            """
            update accountctl.authorization_codes
            set expires_at = now() - interval '1 second', tried_at = now() - \(triedBefore)::interval
            where id = \(code)
            """
        )
    }
}
