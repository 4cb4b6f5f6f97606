import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A held credential about which Apple is to be asked.
struct HeldCredential: Sendable {
    let id: Int64
    let user: UUID
    let clientID: String
    let sealed: String

    /// The columns that ``init(_:)`` takes, for a `select` or a `returning`.
    static let columns: Statement = "id, user_id, client_id, sealed_token"

    /// Reads a row of ``columns``.
    init(_ row: (Int64, UUID, String, String)) {
        (id, user, clientID, sealed) = row
    }
}
