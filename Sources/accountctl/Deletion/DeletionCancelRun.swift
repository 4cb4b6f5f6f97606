import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Cancels the requests of a list, each in its own transaction together with its entry in the operators' log.
///
/// A dry run performs the same transactions and rolls them back, so its results are accurate.
struct DeletionCancelRun {
    let context: CommandContext
    let pool: Pool
    let list: IDList
    let actor: Operator
    let reason: String?
    let isRehearsed: Bool

    /// How many requests are cancelled between two updates of the progress line.
    private static let batch = 100

    /// - Returns: The status of the first request that could not be cancelled, or success.
    /// - Throws: `NamedSubject` before any change; ``CommandError`` for the error that stopped the run early, after the
    ///   results so far are shown.
    func run() async throws -> ExitStatus {
        try await refuseWords()
        let triggers =
            isRehearsed
            ? try await pool.withConnection { try AccountWrite.triggersOutside(of: [.user], on: $0) } : []
        let progress = context.progress("Cancelling", total: list.ids.count)
        var done = Done()
        var rest = list.ids[...]
        while !rest.isEmpty, done.obstacle == nil {
            let batch = Array(rest.prefix(Self.batch))
            rest = rest.dropFirst(batch.count)
            do {
                done.add(
                    try await pool.withConnection { try await cancel(batch, writes: triggers.isEmpty, on: $0) }
                )
            } catch {
                done.obstacle = error
            }
            progress.update(done.results.count)
        }
        progress.finish(done.results.count)
        return try end(done, triggers)
    }

    /// The results for some of the requests.
    private struct Done: Sendable {
        var results: [DeletionCancelResult] = []
        /// Whether any of the cancellations left out the triggers on accounts.
        var isUnasked = false
        /// The error that stopped the run.
        var obstacle: (any Error)?

        mutating func add(_ more: Done) {
            results += more.results
            isUnasked = isUnasked || more.isUnasked
            obstacle = more.obstacle
        }
    }

    /// Refuses a reason that names the account of one of the requests, before any change.
    private func refuseWords() async throws {
        let (ids, desk, reason) = (list.ids, DeletionDesk(actor), reason)
        try await pool.withConnection { connection in
            for page in ids.pages {
                let users = try DeletionDesk.accounts(of: page, on: connection)
                try desk.refuseWords(reason, naming: users, on: connection)
            }
        }
    }

    private func cancel(_ requests: [UUID], writes: Bool, on connection: isolated Connection) async throws -> Done {
        let (desk, reason, isRehearsed) = (DeletionDesk(actor, writes: writes), reason, isRehearsed)
        var done = Done()
        for request in requests {
            do {
                let (act, isUnasked) = try await connection.transaction(rehearsed: isRehearsed) { connection in
                    let isUnasked = try !writes && DeletionDesk.isLockedOut(request, on: connection)
                    return (try await desk.cancel(request, reason: reason, on: connection), isUnasked)
                }
                if isUnasked, act == .done { done.isUnasked = true }
                done.results.append(DeletionCancelResult(request, act, isRehearsed: isRehearsed))
            } catch let error as PostgresError where error.connectionUsable {
                // For example, an app's trigger rejects the change of the account.
                done.results.append(DeletionCancelResult(request, error))
            } catch {
                // If the connection broke during the commit, it is unknown whether the request was cancelled.
                if let error = error as? PostgresError { done.results.append(DeletionCancelResult(request, error)) }
                done.obstacle = error
                break
            }
        }
        return done
    }

    /// Reports the results and determines the exit status.
    private func end(_ done: Done, _ triggers: [DeletionCatalog.Trigger]) throws -> ExitStatus {
        try context.output.list(done.results, DeletionCancelResult.fields)
        if done.isUnasked { context.tell(ofUnasked: triggers) }
        let already = done.results.count { $0.outcome == .unchanged }
        let cancelled = done.results.count { $0.status == .ok } - already
        context.messages.note(
            "\(cancelled) of \(list.ids.count) \(isRehearsed ? "would be cancelled" : "cancelled")"
                + (already > 0 ? ", \(already) cancelled already" : "")
        )
        guard let obstacle = done.obstacle else { return done.results.map(\.status).first { $0 != .ok } ?? .ok }
        throw CommandError.stopped(
            by: obstacle,
            left: list.ids.count - done.results.count,
            of: list.ids.count,
            then: "The same command line cancels the rest."
        )
    }
}
