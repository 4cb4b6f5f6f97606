import Postgres

/// Checks that a session is suitable for migrations.
enum MigrationSession {
    static let poolerHint =
        "Use the direct connection or the pooler's session mode: on Supabase that is port 5432, not 6543."

    /// Checks the session.
    ///
    /// - Throws: ``MigrationError`` `readOnly` on a standby or a read-only server; `transactionPooler` if the
    ///   connection detected a transaction pooler when it was opened; `unknownPooler` if it could not tell.
    static func check(_ connection: isolated Connection) throws {
        switch connection.route {
        case .direct, .sessionPooler: break
        case .transactionPooler:
            throw MigrationError(
                .transactionPooler,
                "the connection goes through a pooler in transaction mode, where locks and settings of a session are lost",
                hint: poolerHint
            )
        case .unknownPooler:
            throw MigrationError(
                .unknownPooler,
                "the connection goes through a pooler, and whether it keeps sessions could not be found out",
                hint: "Finding out takes a second connection: try again when one is free, or use the direct connection."
            )
        }
        let (isStandby, isReadOnly) = try connection.one(
            "select pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'",
            as: (Bool, Bool).self
        )
        if isStandby {
            throw MigrationError(
                .readOnly,
                "this server is a standby: it accepts no changes",
                hint: "Name the primary, or several hosts with target_session_attrs=read-write."
            )
        }
        if isReadOnly {
            throw MigrationError(
                .readOnly,
                "this server is in read-only mode",
                hint: "On Supabase a full disk does that; see default_transaction_read_only."
            )
        }
    }
}
