import JobQueue
import Terminal

/// What became of one of several jobs that a command was told to act on.
struct JobResult: Sendable {
    let id: Int64
    /// Nil where nothing was done for another reason than the job's state, as with a job that is not there.
    let outcome: ActOutcome?
    /// What the command would end with, had it been this job alone.
    let status: ExitStatus
    /// The result in words for people.
    let result: String

    /// The result of a job that something was done to, or would be, or that was so already.
    init(id: Int64, _ outcome: ActOutcome, _ result: String) {
        (self.id, self.outcome, status, self.result) = (id, outcome, .ok, result)
    }

    /// The result of a job that nothing was done to.
    init(id: Int64, _ error: any ReportableError) {
        let report = error.report
        (self.id, status, result) = (id, report.status, report.message)
        outcome = status == .blocked ? .refused : nil
    }

    private static let fields: [Field<JobResult>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field(ActOutcome.field, nil) { .text($0.outcome?.rawValue) },
        Field("exit_code", nil) { .integer(Int64($0.status.rawValue)) },
        Field("result", "Result", emphasis: { $0.status == .ok ? .none : .bad }) { .text($0.result) },
    ]

    static let outputFields = fields.map(\.name)

    /// Lists the results; the status is that of the first failure.
    static func write(_ results: [JobResult], _ context: CommandContext) throws -> ExitStatus {
        try context.output.list(results, fields, whenEmpty: "No jobs.")
        return results.map(\.status).first { $0 != .ok } ?? .ok
    }
}
