import ObjectStorage
package import Postgres

/// The database, project and Storage that workers used last, as recorded in the database itself.
///
/// A clone and a restored backup bring open deletions along, including ones cancelled since. If anything differs from
/// the record, nobody can tell whether this is the database for which these deletions were requested: no worker calls
/// another system before an operator has confirmed it.
package struct DatabaseUse: Sendable, Hashable, Codable {
    private static let name = "deletion.used_with"

    /// The name in the operators' log for the pause of every deletion in a database that differs from its record.
    package static let workerName = "accountctl worker"

    /// The database, by ``DatabaseIdentity`` without its timeline, which a failover changes.
    let database: String
    /// The hosted project to which the connection leads, if it names one; a clone of the files has another.
    let project: String?
    /// The address of the project's Storage; nil if none was configured.
    let storage: String?

    init(database: String, project: String?, storage: String?) {
        self.database = database
        self.project = project
        var text = storage?.lowercased()[...]
        while text?.last == "/" { text = text?.dropLast() }
        self.storage = text.map(String.init)
    }

    /// How this differs from what was recorded, in words for an operator; empty if it is the same, or was not known.
    func differences(from recorded: DatabaseUse) -> [String] {
        var words: [String] = []
        if database != recorded.database { words.append("the database was \(recorded.database) and is \(database)") }
        if let before = recorded.project, let project, before != project {
            words.append("the project was \(before) and is \(project)")
        }
        if let before = recorded.storage, let storage, !Self.isSame(before, storage) {
            words.append("storage.url was \(before) and is \(storage)")
        }
        return words
    }

    /// Whether two addresses of Storage are of the same project, since a hosted project has several.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        guard let project = ProjectReference.ofStorage(one), let another = ProjectReference.ofStorage(other) else {
            return one == other
        }
        return project == another
    }

    /// Returns the use to record: an address that is no longer configured is kept.
    func remembering(_ recorded: DatabaseUse) -> DatabaseUse {
        DatabaseUse(
            database: database,
            project: project ?? recorded.project,
            storage: storage ?? recorded.storage
        )
    }

    /// How a database differs from what its workers recorded; nil if it does not, or if nothing was recorded.
    ///
    /// For commands that call other systems without a worker. Changes nothing.
    ///
    /// - Throws: `PostgresError`.
    package static func difference(
        project: String?,
        storage: String?,
        on connection: isolated Connection
    ) throws -> String? {
        let use = try read(project: project, storage: storage, on: connection)
        let recorded = try connection.first(
            "select value from accountctl.settings where name = \(name)",
            as: JSON<DatabaseUse>.self
        )
        let differences = recorded.map { use.differences(from: $0.value) } ?? []
        return differences.isEmpty ? nil : differences.joined(separator: "; ")
    }

    /// Records what a worker is about to work with, before it starts; pauses everything if anything differs from the
    /// record.
    ///
    /// If everything was paused before, the pause also says by which operator and why.
    ///
    /// All in one transaction: of several workers that start at once, one records, and the others find the record.
    ///
    /// - Returns: Why every deletion was paused; nil if none was.
    /// - Throws: ``OtherHashKey``; `PostgresError`.
    package static func record(
        project: String?,
        storage: String?,
        by actor: Operator,
        on connection: isolated Connection
    ) async throws -> String? {
        let use = try read(project: project, storage: storage, on: connection)
        return try await connection.transaction { connection in
            try connection.execute(
                """
                insert into accountctl.settings (name, value)
                values (\(name), \(JSON(use)))
                on conflict (name) do nothing
                """
            )
            let recorded = try connection.one(
                "select value from accountctl.settings where name = \(name) for update",
                as: JSON<DatabaseUse>.self
            ).value
            let remembered = use.remembering(recorded)
            guard remembered != recorded else { return nil }
            try connection.execute(
                """
                update accountctl.settings
                set value = \(JSON(remembered)), updated_at = now()
                where name = \(name)
                """
            )
            let differences = use.differences(from: recorded)
            guard !differences.isEmpty else { return nil }
            let reason =
                differences.joined(separator: "; ") + ": a clone or a restored backup, unless it was moved"
            // Whoever lifts a pause that came along with the copy must see this reason, too, also where a worker had
            // made that pause for another. Told once: two workers with different settings that restart in turn would
            // lengthen it forever.
            try connection.execute(
                """
                update accountctl.deletion_brakes
                set paused_by = \(actor.name),
                    paused_reason = case
                        when paused_by = \(actor.name) and strpos(paused_reason, \(reason)::text) > 0
                            then paused_reason
                        when paused_by = \(actor.name) then concat(\(reason)::text, '; before: ' || paused_reason)
                        else concat(\(reason)::text, '; paused before by ' || paused_by, ': ' || paused_reason)
                    end,
                    paused_at = coalesce(paused_at, clock_timestamp())
                where true
                """
            )
            try actor.log("deletion.pause_all", on: nil, reason: reason, connection)
            return reason
        }
    }

    private static func read(
        project: String?,
        storage: String?,
        on connection: isolated Connection
    ) throws -> DatabaseUse {
        let identity = try DatabaseIdentity.read(on: connection)
        return DatabaseUse(database: identity.description, project: project, storage: storage)
    }
}
