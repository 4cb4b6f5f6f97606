/// An event of a migration run.
package enum MigrationEvent: Sendable {
    /// Another process is migrating; the holder is given if it is visible.
    case waitingForProcess(MigrationLock.Holder?)
    case started(fileName: String)
    /// Other sessions hold a lock on a table; the migration is retried after the pause.
    case blocked(fileName: String, by: [LockBlocker], pause: Duration)
    /// Somebody changed objects of earlier migrations; they stay as they are, and count as differences until they are
    /// accepted.
    case drifted(objects: [String])
    case applied(fileName: String, duration: Duration)
}
