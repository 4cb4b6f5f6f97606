/// What connecting waits for.
package enum ConnectingStep: Sendable {
    /// Data from the server.
    case waitForReading
    /// Room to send.
    case waitForWriting
    /// Nothing: the connection is made.
    case connected
    /// Nothing: the connection has failed.
    case failed
}

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

/// What reading COPY data away came to.
package enum CopyOutStep: Sendable {
    /// A message was thrown away.
    case data
    /// Nothing has arrived: wait for reading.
    case wait
    /// The data has ended; a last result follows.
    case end
    /// The transfer failed; a last result tells why.
    case failed
}

/// What `NOTIFY` sent.
package struct RawNotification: Sendable, Equatable {
    /// The channel's name.
    package let channel: String
    /// The text sent with it; empty when there was none.
    package let payload: String
    /// The process id of the server process that sent it.
    package let backendPID: Int32
}
