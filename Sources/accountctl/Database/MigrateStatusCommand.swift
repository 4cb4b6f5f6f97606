import ArgumentParser
import Migrations
import Postgres
import Terminal

/// Shows what is applied.
struct MigrateStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which migrations are applied.",
        discussion: """
            EXIT CODES
              0 nothing to do; 1 some are to be applied; 5 the history and this version disagree

            EXAMPLES
              accountctl migrate status
              accountctl migrate status --json number,state
            """
    )

    private static let fields: [Field<MigrationPlan.Item>] = [
        Field("number", "Number", alignment: .right) { .integer($0.number) },
        Field("name", "Name") { .text($0.name) },
        Field("bundle", "Bundle") { .text($0.bundle) },
        Field("state", "State", emphasis: { $0.state.emphasis }) { .text($0.state.rawValue) },
        Field("applied_at", "Applied") { .date($0.applied?.appliedAt) },
        Field("applied_by", "By") { .text($0.applied?.appliedBy) },
        Field("duration_ms", nil) { .integer($0.applied?.milliseconds) },
        Field("version", "Version") { .text($0.applied?.version) },
    ]

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let plan = try await context.withMigrations { engine, connection in
            try engine.plan(on: connection)
        }
        try context.output.list(plan.items, Self.fields)
        if !plan.conflicts.isEmpty { return .residue }
        return plan.pending.isEmpty ? .ok : .failure
    }
}

extension MigrationPlan.State {
    fileprivate var emphasis: Emphasis {
        switch self {
        case .applied: .none
        case .pending: .caution
        case .notChosen: .faint
        case .changed, .unknown, .outOfOrder: .bad
        }
    }
}
