/// Something worth telling whoever watches a migration run.
package enum MigrationEvent: Sendable {
    /// Another process migrates; it is named when it can be seen.
    case waitingForProcess(MigrationLock.Holder?)
    case started(fileName: String)
    /// A table was locked by others; it is tried again after the pause.
    case blocked(fileName: String, by: [LockBlocker], pause: Duration)
    /// An earlier run left an index that was not finished.
    case droppedInvalidIndex(name: String)
    /// Somebody changed what earlier migrations made; it is left, and shown as a difference until somebody accepts it.
    case drifted(objects: [String])
    case applied(fileName: String, duration: Duration)
}
