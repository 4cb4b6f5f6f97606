/// The path between this program and the server.
package enum Route: Sendable, Equatable {
    /// No pooler: the session has its own server process.
    case direct
    /// A pooler that keeps one server process for each session.
    case sessionPooler
    /// A pooler that may use another server process for each transaction.
    case transactionPooler
    /// A pooler that could not be asked which of the two it is, for example because it is full; treated as a
    /// transaction pooler.
    case unknownPooler

    /// Whether settings, prepared statements and LISTEN are known to stay with the session.
    var keepsSession: Bool {
        switch self {
        case .direct, .sessionPooler: true
        case .transactionPooler, .unknownPooler: false
        }
    }
}
