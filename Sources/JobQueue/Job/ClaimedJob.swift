/// A job as a claim returned it.
package struct ClaimedJob: Sendable, Hashable {
    package let leased: JobLease
    let queue: String
    let kind: String
    let attempt: Int16
    let crashes: Int16
    let maxAttempts: Int16?
    let argumentsVersion: Int16
    let priority: Int16
    /// Microseconds since 1970 at which it became ready, by the server's clock: where the next claim of its lane may
    /// begin.
    let readyAt: Int64
    /// Microseconds it waited since then.
    let waited: Int64
    /// Whether it was to be cancelled while another worker held it.
    let isCancelled: Bool
    let arguments: String

    var id: Int64 { leased.id }
    var lease: Int64 { leased.lease }
}

/// Jobs of one kind in one queue, which a worker takes from.
package struct Lane: Sendable, Hashable {
    let queue: String
    let kind: String
    /// The highest version of arguments that can be read.
    let version: Int16
    /// Whether its jobs may run in the reserved slots.
    let isUrgent: Bool
    /// How long an attempt may take.
    let timeout: Duration

    /// Jobs of one kind in one queue.
    package init(queue: String, kind: String, version: Int16 = 1, isUrgent: Bool = false, timeout: Duration) {
        self.queue = queue
        self.kind = kind
        self.version = version
        self.isUrgent = isUrgent
        self.timeout = timeout
    }

    /// The lane without the time limit, as a key.
    struct Name: Hashable, Sendable {
        let queue: String
        let kind: String
    }

    var name: Name { Name(queue: queue, kind: kind) }
}
