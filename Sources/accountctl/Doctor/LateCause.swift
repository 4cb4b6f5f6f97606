import AccountLifecycle
import JobQueue

/// Why jobs of a kind wait in a queue that workers serve.
enum LateCause: Hashable {
    /// Workers of this release take the kind from another queue, and from that alone.
    case misplaced(home: String)
    /// The workers that know the kind serve these queues, and not this one.
    case elsewhere(queues: [String])
    /// No worker knows the kind, though it is one of this release.
    case unprepared
    /// No worker knows the kind.
    case unknown
    /// Workers that know it serve the queue, and have not come to it.
    case behind

    init(_ late: LateKind) {
        let home = AccountLifecycle.queues[late.kind]
        if let home, home != late.queue {
            // Whatever queues a worker serves besides: it takes each kind from one.
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
