/// What a connection is currently doing.
///
/// A plain statement is sent and its result read without an await, so that nothing can come in between; but the closure
/// of a stream may call back into its connection. Such a call is detected by this state and rejected.
struct ProtocolState: Sendable {
    enum Phase: Sendable, Equatable {
        /// Not connected yet. Next: idle, lost.
        case connecting
        /// Nothing is running. Next: busy, streaming, lost.
        case idle
        /// A statement runs. Next: idle, lost.
        case busy
        /// Rows are being passed to a closure. Next: idle, lost.
        case streaming
        /// The connection is gone; the final state.
        case lost
    }

    private(set) var phase = Phase.connecting

    /// Begins an operation.
    ///
    /// - Throws: ``PostgresError`` `connectionBusy` during another operation, `connectionLost` once the connection is
    ///   gone.
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

    /// Records that the connection is gone.
    mutating func lose() {
        phase = .lost
    }
}
