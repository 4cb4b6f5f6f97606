package import Logging
package import Postgres

/// Listens for changes on behalf of a worker or a client that follows the queues: one connection per process, reopened
/// when it is lost.
///
/// Notifications are only hints: they may be late, duplicated or missing. The tables have the truth.
package struct JobListener: Sendable {
    /// An event of the listener.
    package enum Event: Sendable, Hashable {
        /// The connection is open, perhaps again: earlier notifications were missed.
        case connected
        /// A queue's name, or a note between workers.
        case note(String)
    }

    private let configuration: ConnectionConfiguration
    private let logger: Logger

    /// Creates a listener on the database of `configuration`.
    ///
    /// Behind a transaction pooler, no notification ever arrives.
    package init(_ configuration: ConnectionConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Calls `hear` for each event until the task is cancelled, on the connection's own thread: it must return quickly.
    package func run(for queue: JobQueue, _ hear: @escaping @Sendable (Event) -> Void) async {
        await Listener.run(configuration, channels: [queue.tables.channel], logger: logger) { event in
            switch event {
            case .listening: hear(.connected)
            case .notification(let notification): hear(.note(notification.payload))
            case .lost: break
            case .unavailable(let error):
                logger.notice("new jobs are found by polling only", metadata: ["reason": "\(error)"])
            }
        }
    }
}
