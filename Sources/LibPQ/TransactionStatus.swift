/// The transaction status of a connection.
package enum TransactionStatus: Sendable, Equatable {
    /// Outside a transaction.
    case idle
    /// A statement is running.
    case active
    /// In a transaction that can continue.
    case inTransaction
    /// In a failed transaction, which only a rollback can end.
    case inFailedTransaction
    /// The connection is lost.
    case unknown
}
