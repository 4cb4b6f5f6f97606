import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Limits how fast a queue is worked off.
struct JobsLimitCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limit how many jobs of a queue begin in a time, over all workers.",
        discussion: """
            EXAMPLES
              accountctl jobs limit apple --count 100 --seconds 60
              accountctl jobs limit apple --none
            """
    )

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var write: WriteOptions

    @Option(name: .long, help: ArgumentHelp("How many jobs.", valueName: "number"))
    var count: Int?

    @Option(name: .long, help: ArgumentHelp("In how many seconds.", valueName: "number"))
    var seconds = 60

    @Flag(name: .long, help: "Lift the limit.")
    var none = false

    @Argument(help: "The queue.")
    var queue: String

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard none != (count != nil) else { throw CommandError(.usage, "give either --count or --none") }
        if write.dryRun {
            context.messages.note("would change the limit of \(queue)")
            return .ok
        }
        let limit = count.map { (count: $0, period: Duration.seconds(seconds)) }
        try await context.withConnection { connection in
            try JobQueue().limitRate(queue: queue, to: limit, on: connection)
        }
        context.messages.note(limit.map { "\(queue): \($0.count) in \(seconds) s" } ?? "\(queue) has no limit")
        return .ok
    }
}
