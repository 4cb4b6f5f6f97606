/// The jobs of one kind in one queue, from which a worker claims.
package struct Lane: Sendable, Hashable {
    let queue: String
    let kind: String
    /// The highest version of arguments that the worker can read.
    let version: Int16
    /// Whether its jobs may run in the reserved slots.
    let isUrgent: Bool
    /// How long an attempt may take.
    let timeout: Duration

    /// Creates the lane of one kind in one queue.
    package init(queue: String, kind: String, version: Int16 = 1, isUrgent: Bool = false, timeout: Duration) {
        self.queue = queue
        self.kind = kind
        self.version = version
        self.isUrgent = isUrgent
        self.timeout = timeout
    }

    /// Queue and kind alone, as a key.
    struct Name: Hashable, Sendable {
        let queue: String
        let kind: String
    }

    var name: Name { Name(queue: queue, kind: kind) }
}
