/// What lies between this program and the server.
package enum Route: Sendable, Equatable {
    /// Nothing: the session is the server process's own.
    case direct
    /// A pooler that keeps one server process for each session.
    case sessionPooler
    /// A pooler that may use another server process for each transaction.
    case transactionPooler
}
