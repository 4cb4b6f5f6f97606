import AccountLifecycle
import JobQueue

/// A job that an operator asks for.
struct JobOrder: Sendable {
    let job: NewJob
    /// How long it waits, by the server's clock; nil where its time is given, or is now.
    let wait: Duration?

    /// The queue that jobs of a kind go to where none is named: the kind's own, or `default` for a kind that is not
    /// ours.
    static func queue(of kind: String) -> String {
        AccountLifecycle.queues[kind] ?? "default"
    }
}
