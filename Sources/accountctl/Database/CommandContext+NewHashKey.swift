import AccountLifecycle
import Postgres
import Sealing
import Terminal

extension CommandContext {
    /// Makes the hash key known where it is new beside others, once every deletion is paused.
    ///
    /// With everything stopped a wrong key does no harm. What keeps it from becoming known is a warning, and no reason
    /// that nothing is paused.
    ///
    /// - Parameter isRehearsed: whether it is only told what would come of it.
    /// - Returns: ``ExitStatus/advice`` where it could not be made known; ``ExitStatus/ok`` also where the settings name
    ///   none.
    /// - Throws: `CancellationError`.
    func makeHashKeyKnown(isRehearsed: Bool) async throws -> ExitStatus {
        do {
            guard let key = try readHashKey() else { return .ok }
            try await withConnection { connection in
                if let others = try OtherHashKeys(besideNew: key, on: connection) {
                    let warning = others.warning(ofNew: key.id)
                    messages.warning("\(warning); this act makes it known, to workers and to other acts")
                }
                if !isRehearsed { try HashKeyCanary.introduce(key, on: connection) }
            }
            return .ok
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let report = ErrorReport(error)
            messages.warning("no hash key \(isRehearsed ? "would be" : "was") made known: \(report.message)")
            if let hint = report.hint { messages.note(hint) }
            return .advice
        }
    }
}
