import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension CommandContext {
    /// Warns of a name that was probably mistyped: of no queue of ours, nor of one that somebody has paused or limited.
    func warnOfUnknown(queue: String, on connection: isolated Connection) throws {
        let known = try JobQueue().queueSettings(on: connection).map(\.name) + AccountLifecycle.queues.values
        warn(of: queue, unlessAmong: known, "no job was in a queue of this name yet")
    }

    /// Warns of a name that was probably mistyped: of no kind of ours, nor of one that is limited.
    func warnOfUnknown(kind: String, on connection: isolated Connection) throws {
        let known = try JobQueue().kindLimits(on: connection).map(\.kind) + AccountLifecycle.queues.keys
        warn(of: kind, unlessAmong: known, "accountctl's own workers know no jobs of this kind")
    }

    private func warn(of name: String, unlessAmong known: [String], _ words: String) {
        guard !known.contains(name) else { return }
        let near = NearestName.of(name, among: known).map { "; did you mean \($0)?" } ?? ""
        messages.warning(words + near)
    }
}
