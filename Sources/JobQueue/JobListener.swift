/// Where a worker, or whoever follows the queues, hears of changes.
///
/// A hint and no more: what is heard may be late, doubled or missing, and the tables tell the truth.
package struct JobListener: Sendable {
    /// What is heard.
    package enum Event: Sendable, Hashable {
        /// The connection stands, perhaps again: whatever came before was not heard.
        case connected
        /// A queue's name, or a note between workers.
        case note(String)
    }

    let events: @Sendable (_ channel: String) -> AsyncStream<Event>

    /// Hears what `events` gives for a channel.
    package init(events: @escaping @Sendable (_ channel: String) -> AsyncStream<Event>) {
        self.events = events
    }
}
