import LibPQ

/// What is set up once a connection is made.
extension Connection {
    /// Makes the session's settings if the server process that answers is the one that greeted, which a pooler makes
    /// up.
    ///
    /// One round trip for the question and the settings: a short command's time is made of them.
    func applySettingsUnlessPooled() throws -> Bool {
        let process = Int(backendPID)
        let (answering, _, role) = try one(
            Statement(
                unsafeSQL: """
                    select pg_backend_pid(), case when pg_backend_pid() = \(process) then concat(\(settingCalls)) end,
                           \(Self.replicationRole)
                    """
            ),
            as: (Int, String?, String).self,
            deadline: Self.patience
        )
        guard answering == process else { return false }
        try Self.check(replicationRole: role)
        serverLimit = configuration.statementDeadline
        return true
    }

    /// Makes the session's settings; none behind a transaction pooler, where they would stick to somebody else's server
    /// process.
    ///
    /// - Throws: ``PostgresError`` `configuration` where none can be made and one of ``formSettings`` is missing: some
    ///   statements would fail, and a pattern finds something else without a word. `connectionFailed` where the pooler
    ///   could not be asked, since the next connection may find that it keeps sessions. What
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
                reason: "the setting \(missing.name) is not \(missing.value), and no session changes that behind a "
                    + "transaction pooler: set it for the role, or use the direct or the session port, 5432",
                connectionUsable: false
            )
        }
    }

    /// Calls that make the session's settings, one column each.
    ///
    /// A commit waits for the disk unless it says otherwise: what is recorded before an act that nobody can undo is not
    /// to be forgotten with the server. For how many servers it waits is left to the database, as is all of it behind a
    /// transaction pooler.
    private var settingCalls: String {
        SessionSetting.calls(settings) + ", "
            + "case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', false) end"
    }

    private static let replicationRole = "current_setting('session_replication_role')"

    /// Refuses to go on in a transaction in which no trigger runs.
    ///
    /// Behind a transaction pooler it has the server process of somebody who may have left that setting. Sessions of our
    /// own were asked when they were made.
    ///
    /// - Throws: ``PostgresError`` `configuration`.
    package func requireTriggers() throws {
        guard !route.keepsSession else { return }
        try Self.check(replicationRole: one(Statement(unsafeSQL: "select \(Self.replicationRole)"), as: String.self))
    }

    /// Refuses a session in which no trigger runs, those of foreign keys included, as copies of databases are read in: a
    /// delete would leave behind what should go with it.
    ///
    /// Most roles may not change that for themselves.
    private static func check(replicationRole role: String) throws(PostgresError) {
        guard role == "replica" else { return }
        throw PostgresError(
            .configuration,
            reason: "the setting session_replication_role is replica, so that a delete leaves behind what should go "
                + "with it: reset it for the role and the database",
            connectionUsable: false
        )
    }

    private var settings: [SessionSetting] {
        var settings = ServerLimits.statements(deadline: configuration.statementDeadline)
        settings.append(ServerLimits.idle(limit: configuration.idleInTransactionLimit))
        settings += transactionSettings
        // A statement without a transaction is to see what a transaction of ours sees; a database may have another
        // default.
        settings.append(SessionSetting("default_transaction_isolation", "read committed"))
        // What the catalogs print is compared with texts in which no name has quotes that it does not need.
        settings.append(SessionSetting("quote_all_identifiers", "off"))
        settings += formSettings
        return settings
            + configuration.sessionSettings.sorted { $0.key < $1.key }.map { SessionSetting($0.key, $0.value) }
    }

    /// A transaction may take as long as what happens in it; from 17 on a database may have a limit for all of it.
    var transactionSettings: [SessionSetting] {
        serverVersion >= 170_000 ? [SessionSetting("transaction_timeout", "0")] : []
    }

    /// What our statements, and the answers to them, are written in, where the session began with another form.
    private var formSettings: [SessionSetting] {
        var settings: [SessionSetting] = []
        // A backslash is itself in our statements; a database that is older than 9.1 may have kept what was before.
        if handle?.parameterStatus("standard_conforming_strings") == "off" {
            settings.append(SessionSetting("standard_conforming_strings", "on"))
        }
        // Times in text format are read in ISO style only.
        if handle?.parameterStatus("DateStyle")?.hasPrefix("ISO") == false {
            settings.append(SessionSetting("datestyle", "iso"))
        }
        return settings
    }

    /// Lets the server allow a statement as long as its call does.
    ///
    /// The limit only grows: a shorter one is the client's to watch, and going back and forth would cost a round trip
    /// each time. Where a session keeps no limits only a transaction has some, for the rest of it.
    func raiseServerLimit(for deadline: Duration?) throws {
        guard let deadline, exceedsServerLimit(deadline), state.phase == .idle,
            route.keepsSession || isInTransaction, handle?.transactionStatus != .inFailedTransaction
        else { return }
        let sql = SessionSetting.statements(
            ServerLimits.statements(deadline: deadline),
            inTransaction: !route.keepsSession
        )
        try operate(.busy, deadline: nil) { handle in
            guard handle.sendQuery(sql) else { throw lost(handle) }
            try flush(handle)
            if let failed = try drain(handle) { throw error(failed, handle, statement: sql) }
        }
        serverLimit = deadline
    }

    /// Whether the server may end a statement before its call does.
    ///
    /// What it allows by itself, in sessions that keep no limits of ours, nobody knows; it counts as enough for the
    /// usual call.
    func exceedsServerLimit(_ deadline: Duration) -> Bool {
        if let serverLimit { return deadline > serverLimit }
        return !route.keepsSession && deadline > configuration.statementDeadline ?? .zero
    }
}
