extension Statement {
    /// An expression that makes the transaction's commit, or with `inTransaction` false each later one of the session,
    /// wait for the disk where the database says that none does: a record written before an irreversible act must
    /// survive a crash of the server.
    ///
    /// How many servers a commit waits for is left to the database.
    package static func flushing(inTransaction: Bool = true) -> Statement {
        """
        case current_setting('synchronous_commit') when 'off'
            then set_config('synchronous_commit', 'on', \(unsafeSQL: "\(inTransaction)"))
        end
        """
    }
}
