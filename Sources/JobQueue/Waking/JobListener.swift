package import Logging
package import Postgres

/// Where a worker, or whoever follows the queues, hears of changes: one connection per process, made again when it is
/// lost.
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

    private let configuration: ConnectionConfiguration
    private let logger: Logger

    /// Hears from the database of `configuration`.
    ///
    /// Behind a transaction pooler nothing is ever heard.
    package init(_ configuration: ConnectionConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Calls `hear` for each event until the task is cancelled, on the connection's own thread: it must not take long.
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
