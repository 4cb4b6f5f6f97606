import Postgres

/// Something that is followed: looked at again and again, told when it changes.
protocol Watch {
    /// Looks, tells what changed since the last look.
    ///
    /// - Returns: how the command ends when nothing more can come; nil to go on.
    mutating func look(on connection: isolated Connection) throws -> ExitStatus?

    /// Shows what was told so far.
    mutating func flush() throws
}
