import Postgres

/// How far an account's move to another team is, as `apple_transfers` holds it.
enum TransferState: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
    /// Has a transfer identifier.
    case generated
    /// The recipient knows who the user is.
    case exchanged
    /// The identity here is the new one.
    case applied
    /// Apple cannot move the user, usually for having revoked.
    case refused
    /// The new sub or address has an account already, or nobody knows which identity is to move: a person must decide.
    case conflict
}
