import Logging
import Postgres
import Synchronization

/// A session that holds a lock that a migration waits for.
package struct LockBlocker: Sendable, Hashable, CustomStringConvertible {
    let session: ServerSession
    let state: String?
    /// How long its transaction has been open, in seconds.
    let age: Int?
    /// Whether it is an autovacuum, which the server cancels for whoever waits long enough.
    let isAutovacuum: Bool

    package var description: String {
        var text = isAutovacuum ? "autovacuum (\(session))" : session.description
        if let state { text += ", \(state)" }
        if let age { text += ", in a transaction for \(age) s" }
        return text
    }
}

/// Observes, on a connection of its own, which sessions block another session while it waits.
///
/// The waiting session cannot query this itself: when its lock timeout fires, it no longer waits for anybody.
struct LockBlockerWatch: Sendable {
    let configuration: ConnectionConfiguration
    let logger: Logger
    private let seen = Sightings()

    init(configuration: ConnectionConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// All blockers seen, ordered by process id.
    var blockers: [LockBlocker] { seen.all }

    /// Polls every few hundredths of a second until it is cancelled.
    @concurrent
    func watch(pid: Int) async {
        do {
            try await Connection.with(configuration, logger: logger) { connection in
                while !Task.isCancelled {
                    let rows = try connection.query(
                        """
                        select a.pid, a.usename::text, a.application_name, a.state,
                               extract(epoch from clock_timestamp() - a.xact_start)::bigint,
                               -- Of the server's own processes, which have no role, only autovacuum locks tables.
                               a.usesysid is null
                        -- In a condition, this function would be called for each session.
                        from unnest(pg_blocking_pids(\(Int32(pid)))) as blocking(pid)
                        join pg_stat_activity as a on a.pid = blocking.pid
                        """,
                        as: (Int, String?, String?, String?, Int?, Bool).self
                    )
                    for row in rows {
                        let session = ServerSession(pid: row.0, role: row.1, application: row.2)
                        seen.add(LockBlocker(session: session, state: row.3, age: row.4, isAutovacuum: row.5))
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        } catch {
            // Only the wording of a message depends on the result.
            logger.debug("cannot see who blocks", metadata: ["reason": "\(error)"])
        }
    }

    private final class Sightings: Sendable {
        private let blockers = Mutex<[Int: LockBlocker]>([:])

        var all: [LockBlocker] { blockers.withLock { $0.values.sorted { $0.session.pid < $1.session.pid } } }

        func add(_ blocker: LockBlocker) {
            blockers.withLock { $0[blocker.session.pid] = blocker }
        }
    }
}
