import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Postpones jobs.
struct JobsSnoozeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "snooze",
        abstract: "Postpone waiting jobs by a time from now.",
        discussion: """
            EXIT CODES
              0 postponed; 3 no such job; 6 refused for its state; for several jobs, the code of the first that was not
              done

            EXAMPLES
              accountctl jobs snooze 42 --for 2h
              accountctl jobs snooze --unique-key mail.schedule --for 1d
            """
    )

    static let outputFields = JobResult.outputFields

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long to postpone them, such as 90s, 15m or 2h.", valueName: "duration")
    )
    var wait: String

    @OptionGroup
    var choice: JobChoice

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let wait = try DurationArgument.required(wait, "--for")
        let ids = try await context.ids(of: choice)
        return try await context.act(on: ids, as: "jobs.snooze", acting, write, asking: nil) { id, connection in
            try JobQueue().snooze(id, for: wait, on: connection)
            return .done("postponed", would: "would be postponed")
        }
    }
}
