package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a request may lack for good.
extension DeletionDesk {
    /// Takes back that a request goes on without Apple, until its account is locked out: whatever reads it for the step
    /// at Apple does so after that.
    ///
    /// The preflight is done again, since it may have passed without a look at Apple. A lock-out that is decided already
    /// still follows one that did; the step at Apple then waits as it does for every request.
    package func waitForApple(
        _ request: UUID,
        reason: String?,
        on connection: isolated Connection
    ) async throws -> Act {
        try await act(on: request, "deletion.withdraw", reason: reason, connection) { connection, _ in
            let (isWithoutApple, isLockedOut) = try connection.one(
                "select without_apple, locked_out_at is not null from accountctl.deletion_requests where id = \(request)",
                as: (Bool, Bool).self
            )
            guard isWithoutApple else { return .unchanged }
            if isLockedOut { return .refused(.lockedOut) }
            try connection.execute(
                """
                with request as (
                    update accountctl.deletion_requests
                    set without_apple = false
                    where id = \(request)
                )
                update accountctl.deletion_steps
                set finished_at = null, outcome = null
                where request_id = \(request) and step = \(DeletionStep.preflight.rawValue)
                """
            )
            try DeletionJobs.wake(request, on: connection)
            return .done
        }
    }

    /// Whether identifiers of a request are sealed, which is what a key can be lost of.
    static func holdsIdentifiers(_ request: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            "select sealed_identifiers is not null from accountctl.deletion_requests where id = \(request)",
            as: Bool.self
        )
    }

    /// Whether Apple, or a sealing key, is what holds a request up now; or an operator had it go on without Apple
    /// before.
    static func isHeldUpByApple(_ request: UUID, on connection: isolated Connection) throws -> Bool {
        let codes: [Situation.Code] = [.appleMisconfigured, .appleUnreachable, .sealingKeyMissing]
        return try connection.one(
            """
            select without_apple
                or state = \(DeletionState.waitingForApple.rawValue)
                or coalesce(situation ->> 'code' = any(\(codes.map(\.rawValue))), false)
            from accountctl.deletion_requests
            where id = \(request)
            """,
            as: Bool.self
        )
    }
}
