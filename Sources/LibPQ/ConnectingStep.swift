/// What connecting has to wait for.
package enum ConnectingStep: Sendable {
    /// Wait for data from the server.
    case waitForReading
    /// Wait until data can be sent.
    case waitForWriting
    /// Nothing: the connection is open.
    case connected
    /// Nothing: the connection has failed.
    case failed
}
