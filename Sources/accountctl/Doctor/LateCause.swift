import AccountLifecycle
import JobQueue

/// The reason why jobs of a kind wait in a queue that workers serve.
enum LateCause: Hashable {
    /// Workers of this release take the kind only from another queue.
    case misplaced(home: String)
    /// The workers that know the kind serve only these other queues.
    case elsewhere(queues: [String])
    /// No worker knows the kind, although this release has it.
    case unprepared
    /// No worker knows the kind.
    case unknown
    /// Workers that know the kind serve the queue, but have not reached these jobs yet.
    case behind

    init(_ late: LateKind) {
        let home = AccountLifecycle.queues[late.kind]
        if let home, home != late.queue {
            // A worker takes each kind from one queue only, whichever others it serves.
            self = .misplaced(home: home)
        } else if late.isKnown {
            self = .behind
        } else if !late.servedQueues.isEmpty {
            self = .elsewhere(queues: late.servedQueues)
        } else {
            self = home == nil ? .unknown : .unprepared
        }
    }
}
