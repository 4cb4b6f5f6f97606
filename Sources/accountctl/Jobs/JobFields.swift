import JobQueue
import Terminal

/// The columns of lists of jobs.
enum JobFields {
    static let list: [Field<JobRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("state", "State", emphasis: emphasis) { .text($0.state.rawValue) },
        Field("queue", "Queue") { .text($0.queue) },
        Field("kind", "Kind") { .text($0.kind) },
        Field("priority", "Pri", detail: "Priority", alignment: .right) { .integer(Int64($0.priority)) },
        Field("attempt", "Att", detail: "Attempt", alignment: .right) { .integer(Int64($0.attempt)) },
        Field("crashes", nil, detail: "Crashes", alignment: .right) { .integer(Int64($0.crashes)) },
        Field("created_at", nil, detail: "Created at") { .date($0.createdAt) },
        Field("run_at", "Run at") { .date($0.runAt) },
        Field("claimed_at", nil, detail: "Claimed at") { .date($0.claimedAt) },
        Field("finished_at", "Finished") { .date($0.finishedAt) },
        Field("exhausted_at", nil, detail: "Exhausted at") { .date($0.exhaustedAt) },
        Field("worker", nil, detail: "Worker") { $0.worker.map { .integer($0) } ?? .null },
        Field("unique_key", nil, detail: "Unique key") { .text($0.uniqueKey) },
        Field("limit_key", nil, detail: "Limit key") { .text($0.limitKey) },
        Field("reason", "Reason") { .text($0.reason) },
        Field("last_error", "Last error") { .text($0.lastError) },
    ]

    static func emphasis(_ job: JobRecord) -> Emphasis {
        switch job.state {
        case .discarded: .bad
        case .parked, .cancelled: .caution
        case .completed: .faint
        case .scheduled, .available, .running: job.exhaustedAt == nil ? .none : .bad
        }
    }
}
