import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension CommandContext {
    /// Warns of queue names that are probably mistyped: neither one of our queues nor one that somebody has paused or
    /// limited.
    func warnOfUnknown(queues: Set<String>, on connection: isolated Connection) throws {
        let known = try JobQueue().queueSettings(on: connection).map(\.name) + AccountLifecycle.queues.values
        warn(of: queues, unlessAmong: known, "none of accountctl's own jobs are in the queue")
    }

    /// Warns of kinds that are probably mistyped: neither one of our kinds nor one that is limited.
    func warnOfUnknown(kinds: Set<String>, on connection: isolated Connection) throws {
        let known = try JobQueue().kindLimits(on: connection).map(\.kind) + AccountLifecycle.queues.keys
        warn(of: kinds, unlessAmong: known, "accountctl's own workers know no jobs of the kind")
    }

    private func warn(of names: Set<String>, unlessAmong known: [String], _ words: String) {
        for name in names.subtracting(known).sorted() {
            let near = NearestName.question(of: name, among: known)
            messages.warning("\(words) \(name)\(near)")
        }
    }
}
