/// What lies between this program and the server.
package enum Route: Sendable, Equatable {
    /// Nothing: the session is the server process's own.
    case direct
    /// A pooler that keeps one server process for each session.
    case sessionPooler
    /// A pooler that may use another server process for each transaction.
    case transactionPooler
    /// A pooler that could not be asked which of the two it is, such as one that is full; lived with as one of
    /// transactions.
    case unknownPooler

    /// Whether what a session sets, prepares and listens to is known to stay with it.
    var keepsSession: Bool {
        switch self {
        case .direct, .sessionPooler: true
        case .transactionPooler, .unknownPooler: false
        }
    }
}
