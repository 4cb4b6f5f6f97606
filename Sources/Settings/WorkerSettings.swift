/// The settings for a worker.
package struct WorkerSettings: Sendable {
    package let concurrency: Int
    package let pollInterval: Duration
    package let leaseDuration: Duration
    package let shutdownTimeout: Duration
    package let retention: Duration

    init(_ reader: inout SettingsReader) {
        concurrency = reader.read(
            "worker.concurrency",
            .integer(1...1024),
            // Deletions share passes over whole tables, so this number is how many one pass serves. With a higher
            // number, deletions would wait too long for three connections to a distant database.
            default: 128,
            "How many jobs run at once, besides up to 8 exchanges of authorization codes."
        )
        pollInterval = reader.read(
            "worker.poll_interval",
            .duration(.milliseconds(50) ... .seconds(3600)),
            default: .seconds(1),
            "How often a worker looks for jobs when no notification arrives."
        )
        leaseDuration = reader.read(
            "worker.lease",
            .duration(.seconds(5) ... .seconds(3600)),
            default: .seconds(60),
            "How long a job stays with a worker that has stopped responding; at least 1.5 times storage.timeout and 3 times apple.timeout."
        )
        shutdownTimeout = reader.read(
            "worker.shutdown_timeout",
            .duration(.zero ... .seconds(3600)),
            default: .seconds(20),
            "How long running jobs may continue after SIGTERM before they are handed back."
        )
        retention = reader.read(
            "worker.retention",
            .duration(.seconds(86_400) ... .seconds(3650 * 86_400)),
            default: .seconds(14 * 86_400),
            "How long finished jobs are kept; they are dropped by the day, in UTC."
        )
    }

    /// Reports a lease that could expire before a call ends, since such a call would never be started.
    ///
    /// A worker renews a lease four times within its duration, so that two thirds of the duration remain at any time,
    /// with a margin for a late heartbeat.
    func checkLease(against call: (key: String, longest: Duration), _ reader: inout SettingsReader) {
        let needed = call.longest * 3 / 2
        guard leaseDuration < needed else { return }
        reader.reportConflict(
            "worker.lease",
            "\(DurationText.write(leaseDuration)) is too short for \(call.key): must be at least \(DurationText.write(needed))"
        )
    }
}
