import AccountLifecycle
import Foundation
import Logging
import Postgres
import SignInWithApple
import TestSupport

extension Stage {
    /// Submits a code as the app does, and exchanges it.
    func exchange(
        _ code: String,
        of person: Person,
        after age: String = "0 seconds",
        by apple: AppleClients? = nil,
        logger: Logger = .silent
    ) async throws -> CodeExchange.Outcome {
        let id = try await submitCode(code, of: person)
        try await sql(
            "update accountctl.authorization_codes set expires_at = expires_at - \(age)::interval where id = \(id)"
        )
        return try await CodeExchange(services(apple: apple, logger: logger)).run(id)
    }

    /// Drives a request through its failing attempts, as its job would over time.
    func driveThroughFailures(_ request: UUID) async throws {
        for _ in 0..<20 {
            guard case .failed = try await drive(request) else { return }
        }
    }

    /// The proof behind "verified" as the app, an operator and the receipt see it.
    func proofs(of request: UUID) async throws -> [String?] {
        let told = try await value(
            "select accountctl.deletion_status_document(\(request)) ->> 'proof'",
            as: String?.self
        )
        return try await pool.withConnection { connection in
            [
                told, try DeletionSummary.find(request, on: connection)?.proof?.rawValue,
                try IssuedReceipt.find(of: request, on: connection)?.document.proof?.rawValue,
            ]
        }
    }

    /// Makes every statement that deletes more than `rows` rows of a table end as at its time limit.
    func limitDeletes(from table: String, to rows: Int) async throws {
        try await sql(
            """
            create function public.tire() returns trigger language plpgsql as $$
            begin
                if (select count(*) from gone) > \(unsafeSQL: String(rows)) then
                    raise exception 'slow' using errcode = 'query_canceled';
                end if;
                return null;
            end $$
            """
        )
        try await sql(
            """
            create trigger tire after delete on \(unsafeSQL: table) referencing old table as gone
            for each statement execute function public.tire()
            """
        )
    }

    func retryRevocations() async throws -> Int {
        try await PendingRevocation.retry(with: services())
    }

    func signUpWithoutProfile() async throws -> Person {
        try await sql("drop trigger if exists on_auth_user_created on auth.users")
        return try await signUp()
    }
}
