import ArgumentParser
import Migrations
import Postgres
import Terminal

/// Shows what `up` would do.
struct MigratePlanCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what up would do, what it would leave alone, and which locks it takes.",
        discussion: """
            Reads the catalogs, the history and whether the bucket exists; changes nothing.

            EXIT CODES
              0 up can run, or there is nothing to do; 5 the history and this version disagree; 6 something forbids it;
              75 locked or unreachable, try again

            EXAMPLES
              accountctl migrate plan
              accountctl migrate plan --visibility own
            """
    )

    static let outputFields = ["migrations", "adoption"]

    @OptionGroup
    var migration: MigrationOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await Self.show(migration, in: context)
    }

    /// Shows the plan; `up --dry-run` calls this with facts of its own.
    static func show(
        _ options: MigrationOptions,
        with facts: [Sheet.Fact] = [],
        in context: CommandContext
    ) async throws -> ExitStatus {
        let (plan, locks, adoption) = try await context.withMigrations(sessionSettings: options.sessionSettings) {
            engine,
            connection in
            let plan = try engine.plan(bundles: options.bundles(of: engine.set), on: connection)
            let pending = Set(plan.pending.map(\.number))
            try engine.checkSchema(for: plan, on: connection)
            let platform = try PlatformLocks.read(on: connection)
            let locks = Dictionary(
                uniqueKeysWithValues: engine.set.migrations.filter { pending.contains($0.number) }
                    .map { ($0.number, $0.locks(with: platform)) }
            )
            return (plan, locks, try await AdoptionPlan.pending(pending, options.visibility?.meaning, on: connection))
        }
        try context.output.show(Sheet([.init(.facts(facts)), migrations(plan, locks), Self.adoption(adoption)]))
        if plan.pending.isEmpty, context.output.format == .table { context.messages.note("Nothing to do.") }
        if !plan.conflicts.isEmpty { return .residue }
        return adoption.contains(where: \.decision.isRefusal) ? .blocked : .ok
    }

    private static func migrations(_ plan: MigrationPlan, _ locks: [Int: [TableLock]]) -> Sheet.Section {
        let shown = plan.pending + plan.conflicts
        return Sheet.Section(
            "migrations",
            title: shown.isEmpty ? nil : "Migrations",
            .table(
                [
                    TableColumn("Number", alignment: .right), TableColumn("Name"), TableColumn("State"),
                    TableColumn("Locks on existing tables"),
                ],
                rows: shown.map { item in
                    [
                        .integer(item.number), .text(item.name), .text(item.state.rawValue),
                        .list((locks[item.number] ?? []).map { .text($0.words) }),
                    ]
                },
                names: ["number", "name", "state", "locks"]
            )
        )
    }

    private static func adoption(_ items: [AdoptionPlan.Item]) -> Sheet.Section {
        Sheet.Section(
            "adoption",
            title: items.isEmpty ? nil : "Objects outside of the schema accountctl",
            .table(
                [
                    TableColumn("Item"), TableColumn("Object"), TableColumn("Decision"), TableColumn("Lock"),
                    TableColumn("Why"),
                ],
                rows: items.map { item in
                    [
                        .text(item.name), .text(item.object), .text(item.decision.word),
                        .list(item.locks.map { .text($0.words) }), .text(item.decision.reason),
                    ]
                },
                names: ["item", "object", "decision", "locks", "reason"]
            )
        )
    }
}

extension TableLock {
    fileprivate var words: String { "\(mode.rawValue) on \(table)" }
}

extension AdoptionDecision {
    fileprivate var word: String {
        switch self {
        case .create: "create"
        case .replace: "replace"
        case .keep: "keep"
        case .leaveOff: "leave off"
        case .refuse: "refuse"
        }
    }
}
