import ArgumentParser
import Migrations
import Postgres
import Terminal

/// Applies the missing migrations.
struct MigrateUpCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Apply the migrations that are missing.",
        discussion: """
            Safe on a live database, and when several instances start at once: each migration runs once, in a
            transaction of its own, never waits long for a lock, and is repeated if it did not get one.

            EXIT CODES
              0 applied, or nothing to do; 5 the history and this version disagree; 6 something forbids it, and nothing
              was changed; 75 locked or unreachable, try again

            EXAMPLES
              accountctl migrate up
              accountctl migrate up --dry-run
              accountctl migrate up --without-profiles
            """
    )

    static let otherWords = ["install", "init", "setup", "apply", "upgrade"]

    static let outputFields = ["applied", "bundles"] + MigratePlanCommand.outputFields

    @OptionGroup
    var migration: MigrationOptions

    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and change nothing.")
    var dryRun = false

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        if dryRun { return try await MigratePlanCommand.show(migration, with: Self.facts(nil), in: context) }
        let options = migration
        let report: MigrationEngine.Report
        do {
            report = try await context.withMigrations(sessionSettings: options.sessionSettings) { engine, connection in
                try await engine.up(bundles: options.bundles(of: engine.set), on: connection)
            }
        } catch let error as PostgresError where error.code == .commitInDoubt {
            // The next run finds out from the history table whether the commit succeeded.
            throw CommandError(
                .temporary,
                "the connection to the database broke during a commit",
                hint: "Start it again: it finds out what was applied, and continues from there."
            )
        }
        if let visibility = options.visibility, !report.applied.contains(where: { $0.contains("profiles") }) {
            context.messages.warning(
                "--visibility \(visibility.rawValue) changed nothing: it only applies when profiles are installed, "
                    + (report.bundles.contains("profiles")
                        ? "and they already are: their policies decide who may read them"
                        : "and they were left out here; add them with: accountctl migrate up --with-profiles "
                            + "--visibility \(visibility.rawValue)")
            )
        }
        if context.output.format == .table {
            context.messages.note(
                report.applied.isEmpty
                    ? "Nothing to do." : "Applied " + Wording.count(report.applied.count, "migration") + "."
            )
        } else {
            let plan = MigratePlanCommand.outputFields.map { Sheet.Fact($0, $0, .null) }
            try context.output.show(Sheet(facts: Self.facts(report) + plan))
        }
        return .ok
    }

    /// The facts of what was done; null in a dry run.
    private static func facts(_ report: MigrationEngine.Report?) -> [Sheet.Fact] {
        func list(_ names: [String]?) -> OutputValue { names.map { .list($0.map { .text($0) }) } ?? .null }
        return [
            .init("applied", "Applied", list(report?.applied)), .init("bundles", "Bundles", list(report?.bundles)),
        ]
    }
}
