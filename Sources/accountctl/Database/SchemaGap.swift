import Migrations
import Postgres
import Terminal

/// The error of a failed command if the database has another schema than this program knows.
///
/// The schema is checked only after a failure: most commands work with a schema that is a migration behind or ahead,
/// and should.
struct SchemaGap {
    static let telling: Set<SQLState> = [
        .undefinedTable, .undefinedColumn, .undefinedFunction, .undefinedObject, .invalidSchemaName,
    ]

    let context: CommandContext

    /// Whether the server did not find something that another schema may have.
    static func tells(_ error: PostgresError) -> Bool { error.sqlState.map { telling.contains($0) } ?? false }

    /// The error that replaces the server's; nil if the schema is not the cause, or cannot be read.
    func explanation(of error: any Error) async -> CommandError? {
        guard let error = error as? PostgresError, Self.tells(error) else { return nil }
        let plan: MigrationPlan
        do {
            plan = try await context.withMigrations { engine, connection in try engine.plan(on: connection) }
        } catch {
            return error as? CommandError
        }
        let said = error.diagnostics?.message.map { " (\($0))" } ?? ""
        guard plan.items.contains(where: { $0.applied != nil }) else {
            return Self.absent(said)
        }
        if let newer = plan.items.first(where: { $0.state == .unknown }) {
            let version = newer.applied?.version ?? "unknown"
            return CommandError(
                .residue,
                "the database is ahead of this program: a newer one (\(version)) has applied migration \(newer.number)\(said)",
                hint: "Use that version of accountctl. See: accountctl migrate status"
            )
        }
        return Self.behind(plan, said)
    }

    /// The error for a database without our schema.
    static func absent(_ said: String = "") -> CommandError {
        CommandError(
            .failure,
            "the schema is not installed in this database\(said)",
            hint: "Install it: accountctl migrate up"
        )
    }

    /// The error for a database that lacks migrations of this program; nil if it has all, or if it is unknown which it
    /// has.
    static func behind(_ plan: MigrationPlan, _ said: String = "") -> CommandError? {
        guard let newest = plan.items.last(where: { $0.applied != nil })?.number, let last = plan.pending.last?.number
        else { return nil }
        return CommandError(
            .residue,
            "the database is \(Wording.count(plan.pending.count, "migration")) behind this program: "
                + "it is at \(newest), the program at \(last)\(said)",
            hint: "Look at what is missing: accountctl migrate plan. Apply it: accountctl migrate up"
        )
    }
}
