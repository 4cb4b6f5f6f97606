package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Requesting a deletion.
extension DeletionDesk {
    /// The result of requesting a deletion.
    package enum Opening: Sendable, Hashable {
        case opened(UUID)
        /// There was already an open request.
        case found(UUID)
        /// No account has this id any more: it was erased.
        case erased
        case unknownUser
    }

    /// Opens a request for an account, or finds the open one; without `grace`, with the grace period of the settings.
    package func request(
        _ user: UUID,
        reason: String?,
        grace: Duration? = nil,
        on connection: isolated Connection
    ) async throws -> Opening {
        try await connection.atomically { connection in
            try open(user, reason: reason, grace: grace, on: connection)
        }
    }

    /// Opens a request in a transaction that is already open.
    func open(_ user: UUID, reason: String?, grace: Duration?, on connection: isolated Connection) throws -> Opening {
        let exists = try connection.one(
            "select exists (select from auth.users where id = \(user))",
            as: Bool.self
        )
        guard exists else { return .unknownUser }
        let (request, opened) = try connection.one(
            """
            select request_id, opened
            from accountctl.open_deletion_request(
                \(user), 'operator', \(reason), \(grace?.wholeSeconds) * interval '1 second'
            )
            """,
            as: (UUID, Bool).self
        )
        try log("deletion.request", user: user, reason: reason, request: request, on: connection)
        return opened ? .opened(request) : .found(request)
    }
}
