/// What a connection is in the middle of.
///
/// A plain statement is sent and read to its end without an await, so that nothing can come in between; but the closure
/// of a stream may call back into its connection. Such a call finds the state here and is refused.
struct ProtocolState: Sendable {
    enum Phase: Sendable, Equatable {
        /// Not connected yet. Next: idle, lost.
        case connecting
        /// Nothing is running. Next: busy, streaming, lost.
        case idle
        /// A statement runs. Next: idle, lost.
        case busy
        /// Rows are being handed out. Next: idle, lost.
        case streaming
        /// The end.
        case lost
    }

    private(set) var phase = Phase.connecting

    /// Begins an operation.
    ///
    /// - Throws: ``PostgresError`` `connectionBusy` in the middle of another one, `connectionLost` after the end.
    mutating func begin(_ next: Phase) throws(PostgresError) {
        switch phase {
        case .idle: phase = next
        case .lost, .connecting:
            throw PostgresError(.connectionLost, reason: "the connection is closed", connectionUsable: false)
        case .busy, .streaming:
            throw PostgresError(.connectionBusy, reason: "the connection is \(phase)")
        }
    }

    /// Ends an operation, or connecting.
    mutating func end() {
        if phase != .lost { phase = .idle }
    }

    /// The connection is gone.
    mutating func lose() {
        phase = .lost
    }
}
