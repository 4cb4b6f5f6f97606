import Postgres

/// The state of an unfinished job, or how a job ended.
package enum JobState: String, Codable, Sendable, CaseIterable, PostgresDecodable {
    case scheduled, available, running, parked
    case completed, cancelled, discarded

    /// The states of unfinished jobs.
    static let live = allCases.filter { !$0.isEnded }

    /// Whether the job is in the history.
    var isEnded: Bool {
        switch self {
        case .scheduled, .available, .running, .parked: false
        case .completed, .cancelled, .discarded: true
        }
    }

    /// Whether ``JobQueue/retry(_:on:)`` accepts such a job.
    var canBeRetried: Bool { self != .running && self != .completed }
}
