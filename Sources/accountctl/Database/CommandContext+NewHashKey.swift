import AccountLifecycle
import Postgres
import Sealing
import Terminal

extension CommandContext {
    /// Registers the hash key, once every deletion is paused, and warns if it is new while others were used before.
    ///
    /// While everything is paused a wrong key does no harm. If the key cannot be registered, that is only a warning:
    /// the pause still applies.
    ///
    /// - Parameter isRehearsed: whether to report the effect and change nothing.
    /// - Returns: ``ExitStatus/advice`` if the key could not be registered; otherwise ``ExitStatus/ok``, also if the
    ///   settings name none.
    /// - Throws: `CancellationError`.
    func registerHashKey(isRehearsed: Bool) async throws -> ExitStatus {
        do {
            guard let key = try readHashKey() else { return .ok }
            try await withConnection { connection in
                if let others = try OtherHashKeys(besideNew: key, on: connection) {
                    let warning = others.warning(ofNew: key.id)
                    messages.warning("\(warning); this command registers it, for workers and for other commands")
                }
                if !isRehearsed { try HashKeyCanary.introduce(key, on: connection) }
            }
            return .ok
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let report = CommandError(error)
            messages.warning("no hash key \(isRehearsed ? "would be" : "was") registered: \(report.message)")
            if let hint = report.hint { messages.note(hint) }
            return .advice
        }
    }
}
