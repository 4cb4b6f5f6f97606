import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Lists jobs.
struct JobsListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List jobs.",
        discussion: """
            Unfinished jobs come in the order in which they will run, then finished ones, newest first.

            EXAMPLES
              accountctl jobs list
              accountctl jobs list --state parked --state discarded --kind account.delete
              accountctl jobs list --unique-key mail.schedule
              accountctl jobs list --exhausted --json id,kind,last_error
            """
    )

    static let outputFields = JobFields.list.map(\.name)
    static let isSequential = true

    @OptionGroup
    var options: JobFilterOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let filter = try options.filter()
        let jobs = try await context.withConnection { connection in
            try JobQueue().list(filter, withOneMore: true, on: connection)
        }
        try context.list(jobs, JobFields.list, limit: filter.limit, of: JobFilter.limits, whenEmpty: "No jobs.")
        return .ok
    }
}
