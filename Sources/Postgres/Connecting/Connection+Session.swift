import LibPQ

/// Session settings, applied once a connection is made.
extension Connection {
    /// Applies the session's settings if the answering server process has the process id of the handshake, which a
    /// pooler makes up.
    ///
    /// One round trip for both the check and the settings, because round trips dominate the time of a short command.
    func applySettingsUnlessPooled(deadline: Duration?) throws -> Bool {
        let process = Int(backendPID)
        // Otherwise the call would raise the server's limit first, in a transaction with settings of its own.
        serverLimit = deadline
        let (answering, _, role) = try one(
            Statement(
                unsafeSQL: """
                    select pg_backend_pid(), case when pg_backend_pid() = \(process) then concat(\(settingCalls)) end,
                           \(Self.replicationRole)
                    """
            ),
            as: (Int, String?, String).self,
            deadline: deadline
        )
        serverLimit = answering == process ? configuration.statementDeadline : nil
        guard answering == process else { return false }
        try Self.check(replicationRole: role)
        return true
    }

    /// Applies the session's settings; none behind a transaction pooler, where they would stay on a server process that
    /// serves other clients.
    ///
    /// - Throws: ``PostgresError`` `configuration` if no settings can be made and one of ``formSettings`` is needed:
    ///   some statements would fail, and a pattern would silently match something else. `connectionFailed` if the
    ///   pooler could not be asked, because the next connection may find that it keeps sessions. What
    ///   ``check(replicationRole:)`` throws.
    func applySettings() throws {
        if route.keepsSession {
            let (_, role) = try one(
                Statement(unsafeSQL: "select concat(\(settingCalls)), \(Self.replicationRole)"),
                as: (String, String).self
            )
            try Self.check(replicationRole: role)
            serverLimit = configuration.statementDeadline
        } else if !configuration.takesAnyForm, let missing = formSettings.first {
            throw PostgresError(
                route == .unknownPooler ? .connectionFailed : .configuration,
                reason: "the setting \(missing.name) is not \(missing.value), and a session cannot change that behind "
                    + "a transaction pooler: set it for the role, or use the direct or the session port, 5432",
                connectionUsable: false
            )
        }
    }

    /// Calls that apply the session's settings, one column each.
    private var settingCalls: String {
        "\(SessionSetting.calls(settings)), \(Statement.flushing(inTransaction: false).text)"
    }

    /// The statements that make the settings of a transaction whose session keeps none.
    ///
    /// A transaction that only reads has nothing to flush, and a query would take its snapshot too early.
    func transactionStart(readOnly: Bool) -> [String] {
        var statements = [SessionSetting.statements(transactionSettings, inTransaction: true)]
        if !readOnly { statements.append("select \(Statement.flushing().text)") }
        return statements
    }

    private static let replicationRole = "current_setting('session_replication_role')"

    /// Refuses to continue in a transaction in which no triggers run.
    ///
    /// Behind a transaction pooler, another client may have left that setting on the server process. Our own sessions
    /// were checked when they were opened.
    ///
    /// - Throws: ``PostgresError`` `configuration`.
    package func requireTriggers() throws {
        guard !route.keepsSession else { return }
        try Self.check(replicationRole: one(Statement(unsafeSQL: "select \(Self.replicationRole)"), as: String.self))
    }

    /// Refuses a session in which no triggers run, including those of foreign keys, as when a database dump is
    /// restored: a delete would leave behind rows that should be deleted with it.
    ///
    /// Most roles may not change the setting themselves.
    private static func check(replicationRole role: String) throws(PostgresError) {
        guard role == "replica" else { return }
        throw PostgresError(
            .configuration,
            reason: "the setting session_replication_role is replica, so that a delete leaves behind rows that should "
                + "be deleted with it: reset it for the role and the database",
            connectionUsable: false
        )
    }

    private var settings: [SessionSetting] {
        var settings = ServerLimits.statements(deadline: configuration.statementDeadline)
        // A statement outside a transaction must see what one of our transactions sees; a database may have another
        // default.
        settings.append(SessionSetting("default_transaction_isolation", "read committed"))
        // Definitions printed by the catalogs are compared with texts in which no name has unnecessary quotes.
        settings.append(SessionSetting("quote_all_identifiers", "off"))
        return settings + formSettings + transactionSettings
    }

    /// The settings of a session that each transaction makes for itself where no session keeps them.
    private var transactionSettings: [SessionSetting] {
        var settings = ServerLimits.silence(limit: configuration.idleInTransactionLimit)
        // A transaction may take as long as its statements do, whatever a database says, as it can from version 17 on.
        if serverVersion >= 170_000 { settings.append(SessionSetting("transaction_timeout", "0")) }
        return settings
            + configuration.sessionSettings.sorted { $0.key < $1.key }.map { SessionSetting($0.key, $0.value) }
    }

    /// The settings on which the form of our statements and their results depends, where the session began with other
    /// values.
    private var formSettings: [SessionSetting] {
        var settings: [SessionSetting] = []
        // Our statements take a backslash literally; a database from before 9.1 may have kept the old behaviour.
        if handle?.parameterStatus("standard_conforming_strings") == "off" {
            settings.append(SessionSetting("standard_conforming_strings", "on"))
        }
        // Times in text format are parsed only in ISO style.
        if handle?.parameterStatus("DateStyle")?.hasPrefix("ISO") == false {
            settings.append(SessionSetting("datestyle", "iso"))
        }
        return settings
    }

    /// Raises the server's time limit to a call's deadline.
    ///
    /// The limit only grows: a shorter deadline is enforced by the client, and going back and forth would cost a round
    /// trip each time. If a session keeps no settings, the limit is raised only inside a transaction, for the rest of
    /// it.
    func raiseServerLimit(for deadline: Duration?) throws {
        guard let deadline, exceedsServerLimit(deadline), state.phase == .idle,
            route.keepsSession || isInTransaction, handle?.transactionStatus != .inFailedTransaction
        else { return }
        let sql = SessionSetting.statements(
            ServerLimits.statements(deadline: deadline),
            inTransaction: !route.keepsSession
        )
        try operate(.busy, deadline: nil) { try runScript(sql, $0) }
        serverLimit = deadline
    }

    /// Whether the server may end a statement before its call's deadline.
    ///
    /// In sessions that keep no settings, the server's own limit is unknown; it is assumed to suffice for a call with
    /// the default deadline.
    func exceedsServerLimit(_ deadline: Duration) -> Bool {
        if let serverLimit { return deadline > serverLimit }
        return !route.keepsSession && deadline > configuration.statementDeadline ?? .zero
    }
}
