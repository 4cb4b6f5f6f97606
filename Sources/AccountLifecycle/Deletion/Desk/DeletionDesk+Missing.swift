package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Requests that lack something for good.
extension DeletionDesk {
    /// Lets a request continue although something is missing for good: Apple, or the key of its identifiers.
    ///
    /// Refused if it is not missing, since a later success at Apple does not restore what is given up here. Identifiers
    /// are erased: whatever is sealed with the request afterwards is in use, and its key is counted as used.
    package func proceed(
        _ request: UUID,
        withoutApple: Bool,
        withoutIdentifiers: Bool,
        reason: String?,
        on connection: isolated Connection
    ) async throws -> Act {
        try await act(on: request, "deletion.proceed", reason: reason, connection) { connection, _ in
            if withoutIdentifiers, try !Self.holdsIdentifiers(request, on: connection) { return .refused(.nothingLost) }
            if withoutApple, try !Self.isHeldUpByApple(request, on: connection) { return .refused(.notHeldUpByApple) }
            try connection.execute(
                """
                update accountctl.deletion_requests
                set without_apple = without_apple or \(withoutApple),
                    without_identifiers = without_identifiers or \(withoutIdentifiers),
                    sealed_identifiers = case when not \(withoutIdentifiers) then sealed_identifiers end,
                    sealing_key_id = case when not \(withoutIdentifiers) then sealing_key_id end,
                    failures = 0,
                    apple_failures = 0
                where id = \(request)
                """
            )
            try DeletionJobs.wake(request, on: connection)
            return .done
        }
    }

    /// The name of the key that sealed the identifiers of an open request, if it is among `keys` and opens them.
    ///
    /// - Throws: `PostgresError`.
    package static func keyOfIdentifiers(
        of request: UUID,
        among keys: KeyRing,
        on connection: isolated Connection
    ) throws -> String? {
        let row = try connection.first(
            """
            select user_id, sealed_identifiers, sealing_key_id
            from accountctl.deletion_requests
            where id = \(request)
              and finished_at is null
              and user_id is not null
              and sealed_identifiers is not null
            """,
            as: (UUID, String, String?).self
        )
        guard let (user, sealed, key) = row else { return nil }
        return IdentifierVault.opens(sealed, with: keys, request: request, user: user) ? key : nil
    }

    /// Makes a request wait for Apple again; possible until its account is locked out, since the Apple step reads the
    /// setting only after that.
    ///
    /// The preflight is repeated, since it may have passed without checking Apple. A lock-out that was already decided
    /// still follows such a preflight; the Apple step then waits as it does for every request.
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

    /// Whether a request has sealed identifiers, without which no key can be lost.
    static func holdsIdentifiers(_ request: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            "select sealed_identifiers is not null from accountctl.deletion_requests where id = \(request)",
            as: Bool.self
        )
    }

    /// Whether Apple or a sealing key holds up a request now, or an operator let it continue without Apple before.
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
