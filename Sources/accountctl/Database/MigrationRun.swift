import Migrations
import Postgres
import Terminal

extension CommandContext {
    /// Gives `body` a migration engine and a connection for it.
    ///
    /// - Parameters:
    ///   - sessionSettings: the session settings that the migrations read.
    ///   - anyDatabase: whether `body` is also called on a database that is not Supabase's.
    ///   - body: uses the engine and the connection.
    /// - Returns: What `body` returns.
    /// - Throws: ``CommandError`` for a database that is not Supabase's, and whatever `body` throws.
    func withMigrations<Result: Sendable>(
        sessionSettings: [String: String] = [:],
        anyDatabase: Bool = false,
        _ body: @Sendable (MigrationEngine, isolated Connection) async throws -> Result
    ) async throws -> Result {
        let settings = try settingsForDatabase()
        let set = try MigrationSet.embedded()
        var configuration = connectionConfiguration(settings)
        // A migration may take long; the engine sets its own limits on the server.
        configuration.statementDeadline = nil
        // The queries around the migrations take locks as well; they must not silently wait for a session that has a
        // table locked.
        configuration.sessionSettings["lock_timeout"] = "5s"
        var engineOptions = MigrationEngine.Options()
        engineOptions.sessionSettings = sessionSettings
        engineOptions.version = Version.number
        let logger = logger(settings)
        let messages = messages
        let engine = MigrationEngine(
            set: set,
            configuration: configuration,
            options: engineOptions,
            logger: logger,
            event: { event in
                switch event {
                case .started, .applied: messages.progress(event.sentence)
                case .waitingForProcess, .blocked, .drifted: messages.note(event.sentence)
                }
            }
        )
        return try await Connection.with(configuration, logger: logger) { connection in
            if !anyDatabase { try SupabaseDatabase.check(connection) }
            return try await body(engine, connection)
        }
    }
}

extension MigrationEvent {
    /// The event in a sentence for people.
    fileprivate var sentence: String {
        switch self {
        case .waitingForProcess(let holder):
            "Waiting: another process is migrating this database" + (holder.map { " (\($0)). \($0.ending)" } ?? "")
        case .started(let file):
            "Applying \(file)"
        case .blocked(let file, let blockers, let pause):
            "\(file) waits for a lock"
                + (blockers.isEmpty ? "" : ", held by " + blockers.map(\.description).joined(separator: "; "))
                + "; trying again in \(Wording.length(pause))"
        case .drifted(let objects):
            Wording.count(objects.count, "object differs", "objects differ")
                + " from what earlier migrations made; nothing is changed there: "
                + objects.prefix(5).joined(separator: ", ") + (objects.count > 5 ? ", ..." : "")
                + "; see accountctl migrate verify"
        case .applied(let file, let duration):
            "Applied \(file) in \(Wording.length(duration))"
        }
    }
}

extension MigrationError: ReportableError {
    var report: CommandError {
        let status: ExitStatus
        switch code {
        case .lockHeld, .lockTimeout, .readOnly, .unknownPooler: status = .temporary
        case .conflict: status = .residue
        case .refused: status = .blocked
        case .transactionPooler: status = .usage
        default: status = .failure
        }
        return CommandError(status, message, hint: hint)
    }
}
