import AccountLifecycle
import ArgumentParser
import Migrations
import Postgres
import Terminal

/// Compares the database with the schema that the migrations created.
struct MigrateVerifyCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check that the schema is unchanged since it was migrated.",
        discussion: """
            Compares the checksums of the migrations, and tables, columns, constraints, indexes, functions, triggers,
            rules, policies, row-level security, grants and default privileges, with what was recorded after the last
            migration. Columns that the app added to its profiles do not count, nor does an upgrade of the server.
            Later migrations do not hide a change. To accept one that was made on purpose, use --accept.

            EXIT CODES
              0 the same, as far as it was migrated; 1 the schema is not installed; 5 differences

            EXAMPLES
              accountctl migrate verify
              accountctl migrate verify --json kind,object
            """
    )

    private static let fields: [Field<CatalogSnapshot.Difference>] = [
        Field("kind", "Difference", emphasis: { _ in .caution }) { .text($0.kind.rawValue) },
        Field("object", "Object") { .text($0.object) },
        Field("recorded", nil) { .text($0.recorded) },
        Field("present", nil) { .text($0.present) },
    ]

    static let outputFields = fields.map(\.name)

    @Flag(name: .long, help: "Record the schema as it is now as what it should be.")
    var accept = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (plan, differences, isUnfinished, holder) = try await context.withMigrations { engine, connection in
            let plan = try engine.plan(on: connection)
            return (
                plan,
                plan.hasHistory ? try await CatalogSnapshot.differences(on: connection) : [],
                plan.hasHistory ? try CatalogSnapshot.isUnfinished(on: connection) : false,
                try MigrationLock.holder(on: connection)
            )
        }
        guard plan.hasHistory else { throw SchemaGap.absent() }
        tell(of: plan, isUnfinished: isUnfinished, holder, in: context)
        let isSame = plan.conflicts.isEmpty
        try context.output.list(
            differences,
            Self.fields,
            whenEmpty: isSame ? "No difference." : "Nothing else differs."
        )
        if accept, write.dryRun, !differences.isEmpty {
            context.messages.note("would record \(Wording.count(differences.count, "difference"))")
            return isSame ? .ok : .residue
        }
        if accept, !differences.isEmpty {
            try await record(differences, in: context)
            return isSame ? .ok : .residue
        }
        return differences.isEmpty && isSame ? .ok : .residue
    }

    /// Reports problems of the migration history, and what is still to be applied.
    private func tell(
        of plan: MigrationPlan,
        isUnfinished: Bool,
        _ holder: MigrationLock.Holder?,
        in context: CommandContext
    ) {
        for conflict in plan.conflicts.compactMap(\.conflict) { context.messages.warning(conflict.message) }
        if isUnfinished {
            context.messages.warning(
                holder.map {
                    "migrate up is still running (\($0)): its changes so far are among the differences. \($0.ending)"
                }
                    ?? "a run of migrate up was not finished: its changes are among the differences; start it again"
            )
        }
        let pending = plan.pending.count
        if pending > 0 {
            let told = Wording.count(pending, "migration is", "migrations are")
            context.messages.note("\(told) pending; see: accountctl migrate plan")
        }
    }

    /// Records the differences as the expected schema, after a confirmation.
    private func record(_ differences: [CatalogSnapshot.Difference], in context: CommandContext) async throws {
        let what = Wording.count(differences.count, "difference")
        try context.confirm("Record \(what) as the expected schema?", yes: write.yes)
        let signature = try context.signature(acting)
        let isRecorded = try await context.withMigrations { engine, connection in
            let objects = differences.prefix(20).map { "\($0.kind.rawValue) \($0.object)" }
            return try await engine.accept(differences, on: connection) { connection in
                try signature.log("migrate.accept", facts: ["differences": objects], on: connection)
            }
        }
        guard isRecorded else {
            throw CommandError(
                .residue,
                "the differences have changed: nothing was recorded",
                hint: "See them: accountctl migrate verify"
            )
        }
    }
}

extension MigrationPlan {
    fileprivate var hasHistory: Bool { items.contains { $0.applied != nil } }
}
