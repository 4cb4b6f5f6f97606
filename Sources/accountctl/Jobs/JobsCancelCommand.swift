import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Cancels jobs.
struct JobsCancelCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel jobs: waiting ones at once, running ones by telling their handlers to stop.",
        discussion: """
            Cancelling the job of a deletion does not cancel the deletion: accountctl deletion cancel does.

            EXIT CODES
              0 cancelled, or told to stop; 3 no such job; 6 refused for its state; for several jobs, the code of the
              first that was not done

            EXAMPLES
              accountctl jobs cancel 42 --reason "asked for twice" --yes
              accountctl jobs cancel --unique-key mail.schedule
            """
    )

    static let otherWords = ["jobs delete", "jobs remove"]

    static let outputFields = JobResult.outputFields

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var choice: JobChoice

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        try OptionText.check("--reason", acting.reason, limit: OptionText.jobReason)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let ids = try await context.ids(of: choice)
        let question = "Cancel \(CommandContext.named(ids))?"
        try await context.warnOfDeletions(drivenBy: ids)
        return try await context.act(on: ids, as: "jobs.cancel", acting, write, asking: question) { id, connection in
            switch try JobQueue().cancel(id, reason: acting.reason, on: connection) {
            case .cancelled: return .done("cancelled", would: "would be cancelled")
            case .requested: return .done("told to stop", would: "would be told to stop")
            case .finished:
                guard try JobQueue().show(id, on: connection)?.record.state == .cancelled else {
                    throw JobQueueError(.wrongState, "job \(id) had ended already")
                }
                return .unchanged("had been cancelled already")
            case .unknown: throw JobQueueError(.notFound, "there is no job \(id)")
            }
        }
    }
}
