import JobQueue
import Terminal

/// The result for one of the jobs that a command acts on.
struct JobResult: Sendable {
    let id: Int64
    /// Nil if nothing was done for a reason other than the job's state, such as a job that does not exist.
    let outcome: ActOutcome?
    /// The exit status of the command if it had acted on this job alone.
    let status: ExitStatus
    /// The result in words for people.
    let result: String

    /// The result of a job that was changed, would be changed, or needed no change.
    init(id: Int64, _ outcome: ActOutcome, _ result: String) {
        (self.id, self.outcome, status, self.result) = (id, outcome, .ok, result)
    }

    /// The result of a job that was not changed because of an error.
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
