import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a request may lack for good.
extension DeletionDesk {
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
