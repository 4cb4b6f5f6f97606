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
