import Postgres

/// The state of an account's move to another team, as `apple_transfers` stores it.
enum TransferState: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
    /// Has a transfer identifier.
    case generated
    /// The recipient knows who the user is.
    case exchanged
    /// The identity here is the new one.
    case applied
    /// Apple cannot move the user, usually because of a revocation.
    case refused
    /// Another account has the new sub or address, or it is unknown which identity to move: a person must decide.
    case conflict
}
