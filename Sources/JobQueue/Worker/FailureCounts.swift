package import Logging

/// How often each of several recurring tasks has failed in a row.
///
/// The first failure of a row and every hundredth are warnings: a task that fails must not go unnoticed, but an outage
/// may last for hours, and such tasks are tried again every few seconds.
package struct FailureCounts: Sendable {
    private var counts: [String: Int] = [:]

    /// Creates counts of tasks that have not failed.
    package init() {}

    /// Counts a failure of a task, and returns how many there are and at which level to log it.
    package mutating func failed(_ task: String) -> (times: Int, level: Logger.Level) {
        let times = counts[task, default: 0] + 1
        counts[task] = times
        return (times, times % 100 == 1 ? .warning : .debug)
    }

    /// Records that a task succeeded, which ends its row.
    package mutating func succeeded(_ task: String) {
        counts[task] = nil
    }
}
