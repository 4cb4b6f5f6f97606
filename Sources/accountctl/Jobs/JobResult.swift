import JobQueue
import Terminal

/// What became of one of several jobs that a command was told to act on.
struct JobResult: Sendable {
    let id: Int64
    let result: String
    var error: (any ReportableError)?

    private static let fields: [Field<JobResult>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("result", "Result", emphasis: { $0.error == nil ? .none : .bad }) { .text($0.result) },
    ]

    /// Lists the results; the status is that of the first failure.
    static func write(_ results: [JobResult], _ context: CommandContext) throws -> ExitStatus {
        try context.output.list(results, fields, whenEmpty: "no jobs")
        return results.compactMap(\.error).first?.report.status ?? .ok
    }
}
