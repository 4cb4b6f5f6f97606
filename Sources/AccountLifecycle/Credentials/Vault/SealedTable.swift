import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A table of sealed tokens that a rotation moves to the newest key.
enum SealedTable: CaseIterable, Sendable {
    case credentials
    case pendingRevocations

    /// A row that is sealed with an older key.
    struct Row: Sendable {
        let id: Int64
        let token: String
        let context: SealingContext
        /// The token's Apple sub, in tables that seal it as well.
        var subject: (stored: String, context: SealingContext)?
    }

    /// The next rows after an id that are sealed with another key.
    func rows(after: Int64, notUnder key: KeyID, on connection: isolated Connection) throws -> [Row] {
        switch self {
        case .credentials:
            try connection.query(
                """
                select id, sealed_token, user_id, client_id
                from accountctl.apple_credentials
                where id > \(after) and sealing_key_id <> \(key.text)
                order by id
                limit 200
                """,
                as: (Int64, String, UUID, String).self
            ).map { Row(id: $0, token: $1, context: AppleCredential.context(user: $2, clientID: $3)) }
        case .pendingRevocations:
            try connection.query(
                """
                select id, sealed_token, sealed_subject, binding, client_id
                from accountctl.pending_revocations
                where id > \(after) and sealing_key_id <> \(key.text)
                order by id
                limit 200
                """,
                as: (Int64, String, String?, UUID, String).self
            ).map { id, token, subject, binding, clientID in
                let context = PendingRevocation.subjectContext(binding: binding, clientID: clientID)
                return Row(
                    id: id,
                    token: token,
                    context: PendingRevocation.context(binding: binding, clientID: clientID),
                    subject: subject.map { ($0, context) }
                )
            }
        }
    }

    /// Stores a row's resealed token, and reseals its subject, unless the row has changed.
    ///
    /// - Returns: How many rows were changed: one or none.
    func move(
        _ row: Row,
        to token: SealedText,
        with keys: KeyRing,
        on connection: isolated Connection
    ) throws -> Int {
        let tokens: Statement = "sealed_token = \(token.text), sealing_key_id = \(token.keyID.text)"
        let isSame: Statement = "where id = \(row.id) and sealed_token = \(row.token)"
        switch self {
        case .credentials:
            return try connection.execute("update accountctl.apple_credentials set \(tokens) \(isSame)")
        case .pendingRevocations:
            // A subject that cannot be opened is of no use any more; the token is then revoked as if its subject were
            // unknown.
            let subject = row.subject.flatMap { stored, context in
                SealedText(stored).flatMap { try? keys.reseal($0, for: context) }
            }
            return try connection.execute(
                "update accountctl.pending_revocations set \(tokens), sealed_subject = \(subject?.text) \(isSame)"
            )
        }
    }
}
