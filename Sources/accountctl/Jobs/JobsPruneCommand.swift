import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Drops old days of history.
struct JobsPruneCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Drop days of finished jobs; unfinished ones are never touched.",
        discussion: """
            The worker does this by itself, for days that ended before worker.retention (14 days unless it is set).
            Dropped days are gone for good, so their number has to be typed, or given with --confirm. If another session
            blocks a day, those that were dropped before it are listed.

            EXAMPLES
              accountctl jobs prune --older-than 30d
            """
    )

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @Option(
        name: .long,
        help: ArgumentHelp("Drop days that ended at least this long ago, such as 30d.", valueName: "duration")
    )
    var olderThan: String

    @OptionGroup
    var global: GlobalOptions

    static let outputFields = ["partition"]

    private static let age = LengthOption(name: "--older-than", unit: .day, bounds: 0...3650)

    func validate() throws {
        _ = try Self.age.count(olderThan)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let signature = try context.signature(acting)
        let ageInDays = try Self.age.count(olderThan)
        let age = Duration.seconds(ageInDays * 86_400)
        let days = try await context.withConnection { try JobQueue().oldDays(olderThan: age, on: $0) }
        if confirmation.dryRun {
            let field = Field<String>("partition", "Would be dropped") { .text($0) }
            try context.output.list(days.partitions, [field], whenEmpty: "Nothing to drop.")
            return .ok
        }
        if !days.partitions.isEmpty {
            try context.confirmIrreversible(
                "Drop \(Wording.count(days.partitions.count, "day")) of finished jobs for good?",
                id: "\(days.partitions.count)",
                confirmation
            )
        }
        let (dropped, failure) = try await context.withConnection { connection in
            // Logged before the run: an entry for a run that then fails is better than a run without an entry.
            try signature.log("jobs.prune", facts: ["older_than_days": ageInDays], on: connection)
            return await JobQueue().prune(days, on: connection)
        }
        let field = Field<String>("partition", "Dropped") { .text($0) }
        guard let failure else {
            try context.output.list(dropped, [field], whenEmpty: "Nothing to drop.")
            return .ok
        }
        // Lists what was dropped for good, even if dropping the rest failed.
        if !dropped.isEmpty { try context.output.list(dropped, [field]) }
        throw failure
    }
}
