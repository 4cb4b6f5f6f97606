import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Discards jobs.
struct JobsDiscardCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discard waiting jobs, with a reason; retry brings them back.",
        discussion: """
            Discarding the job of a deletion does not end the deletion: accountctl deletion cancel does.

            EXIT CODES
              0 discarded; 3 no such job; 6 refused for its state; for several jobs, the code of the first that was not
              done

            EXAMPLES
              accountctl jobs discard 42 --reason "the campaign is over" --yes
              accountctl jobs discard --unique-key mail.schedule --reason "no mail is sent"
            """
    )

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
        if acting.reason == nil { throw ValidationError("--reason is needed: it is kept with the job") }
        try OptionText.check("--reason", acting.reason, limit: OptionText.jobReason)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason ?? ""
        let ids = try await context.ids(of: choice)
        let question = "Give up \(CommandContext.named(ids))?"
        try await context.warnOfDeletions(drivenBy: ids)
        return try await context.act(on: ids, as: "jobs.discard", acting, write, asking: question) { id, connection in
            do {
                try JobQueue().discard(id, reason: reason, on: connection)
                return .done("discarded", would: "would be discarded")
            } catch let error as JobQueueError where error.code == .wrongState {
                guard try JobQueue().show(id, on: connection)?.record.state == .discarded else { throw error }
                return .unchanged("had been discarded already")
            }
        }
    }
}
