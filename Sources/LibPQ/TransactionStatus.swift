/// Where a connection is in a transaction.
package enum TransactionStatus: Sendable, Equatable {
    /// Outside a transaction.
    case idle
    /// A statement is running.
    case active
    /// In a transaction that can go on.
    case inTransaction
    /// In a transaction that only a rollback ends.
    case inFailedTransaction
    /// The connection is lost.
    case unknown
}
