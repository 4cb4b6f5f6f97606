/// How a worker works.
package struct WorkerSettings: Sendable {
    package let concurrency: Int
    package let pollInterval: Duration
    package let leaseDuration: Duration
    package let shutdownTimeout: Duration

    init(_ reader: inout SettingsReader) {
        concurrency = reader.read("worker.concurrency", .integer(1...256), default: 8, "How many jobs run at once.")
        pollInterval = reader.read(
            "worker.poll_interval",
            .duration(.milliseconds(50) ... .seconds(3600)),
            default: .seconds(1),
            "How often work is looked for when no notification says there is some."
        )
        leaseDuration = reader.read(
            "worker.lease",
            .duration(.seconds(5) ... .seconds(3600)),
            default: .seconds(60),
            "How long a job stays with a worker that no longer answers."
        )
        shutdownTimeout = reader.read(
            "worker.shutdown_timeout",
            .duration(.zero ... .seconds(3600)),
            default: .seconds(20),
            "How long running jobs may go on after SIGTERM before they are handed back."
        )
    }
}
