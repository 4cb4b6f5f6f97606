import Postgres

/// Something that is followed: read again and again, and shown when it changes.
protocol Watch {
    /// Reads the current state, and records what changed since the last look.
    ///
    /// - Returns: the exit status if nothing more can come; nil to go on.
    mutating func look(on connection: isolated Connection) throws -> ExitStatus?

    /// Shows the changes recorded so far.
    mutating func flush() throws
}
