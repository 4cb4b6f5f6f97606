/// The settings of a worker.
///
/// | field | default | bounds |
/// | --- | --- | --- |
/// | slots | 50 | 1 to 10 000 |
/// | reservedSlots | 8 | 0 to 1 000 |
/// | batch | 500 | 1 to 5 000 |
/// | linger | 2 ms | 0 to 100 ms |
/// | pollInterval | 1 s | 10 ms to 1 h |
/// | leaseLifetime | 45 s | 1 s to 1 h |
/// | shutdownGrace | 20 s | 0 to 1 h |
/// | overdueGrace | 30 s | 0 to 1 h |
/// | ageing | 10 min | 1 s to 30 days |
/// | retention | 14 days | 0 to 10 years |
/// | vacuumInterval | 1 min | 1 s to 1 day |
package struct WorkerConfiguration: Sendable {
    /// The worker's name for people, such as host and process id.
    var name: String

    /// The release of the binary.
    package var version = "unknown"

    /// How many jobs run at once.
    package var slots = 50

    /// How many more urgent jobs run when all of `slots` are taken; see ``JobKind/isUrgent``.
    var reservedSlots = 8

    /// How many jobs one statement claims or ends at most.
    var batch = 500

    /// How long an outcome waits for others to be written together with it.
    var linger: Duration = .milliseconds(2)

    /// How often to poll for jobs without a notification; randomized by a fifth.
    ///
    /// Due and lost jobs are looked for at least every five seconds, queues with a rate twice a second.
    package var pollInterval: Duration = .seconds(1)

    /// How long after its last heartbeat a worker keeps its jobs; it sends four heartbeats in that time.
    ///
    /// After the death of a process, its jobs wait at most this long plus the time between two searches for lost jobs.
    /// A worker that has just started declares nobody lost for a quarter of this.
    package var leaseLifetime: Duration = .seconds(45)

    /// How long running jobs may continue after the shutdown began; then they are cancelled and handed back.
    package var shutdownGrace: Duration = .seconds(20)

    /// How long past its deadline a handler that does not stop keeps its job.
    package var overdueGrace: Duration = .seconds(30)

    /// How long a job waits before it moves up one priority, though never to 0, so that a full queue does not starve
    /// the less urgent; nil for strict priorities.
    ///
    /// Jobs of one limit key share its room strictly by priority: those parked for it do not move up.
    var ageing: Duration? = .seconds(600)

    /// How long finished jobs are kept, in whole days.
    package var retention: Duration = .seconds(14 * 86_400)

    /// Whether outcomes and the next claim are sent together, as one transaction.
    package var fusesClaims = true

    /// How often the table is vacuumed; nil leaves it to autovacuum, as does a pool of a single connection.
    package var vacuumInterval: Duration? = .seconds(60)

    /// How often to look for lost jobs, overdue jobs, and parked jobs that no longer need to wait.
    var rescueInterval: Duration { min(.seconds(5), leaseLifetime / 4) }

    /// Creates a configuration with the defaults.
    package init(name: String) {
        self.name = name
    }

    func check() throws(JobQueueError) {
        guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw .invalid("name", "must be 1 to 200 characters without NUL")
        }
        try JobField.checkRange(slots, 1...10_000, field: "slots")
        try JobField.checkRange(reservedSlots, 0...1000, field: "reservedSlots")
        try JobField.checkRange(batch, 1...5000, field: "batch")
        try JobField.checkRange(linger, .zero ... .milliseconds(100), field: "linger")
        try JobField.checkRange(pollInterval, .milliseconds(10)...(.seconds(3600)), field: "pollInterval")
        try JobField.checkRange(leaseLifetime, .seconds(1)...(.seconds(3600)), field: "leaseLifetime")
        try JobField.checkRange(shutdownGrace, .zero...(.seconds(3600)), field: "shutdownGrace")
        try JobField.checkRange(overdueGrace, .zero...(.seconds(3600)), field: "overdueGrace")
        try JobField.checkRange(retention, .zero...(.seconds(3650 * 86_400)), field: "retention")
        if let ageing {
            try JobField.checkRange(ageing, .seconds(1)...(.seconds(30 * 86_400)), field: "ageing")
        }
        if let vacuumInterval {
            try JobField.checkRange(vacuumInterval, .seconds(1)...(.seconds(86_400)), field: "vacuumInterval")
        }
    }
}
