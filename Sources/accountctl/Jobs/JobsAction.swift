import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension CommandContext {
    /// Does something to each of some jobs, each in a transaction of its own, and lists what became of them.
    ///
    /// Each leaves its line in the operators' log. A dry run does the same and undoes it, so that it tells the truth. `done`
    /// says what happened and what would have.
    ///
    /// - Throws: `PromptRefusal` when `question` was not answered with yes; `JobQueueError` for what is out of form, which holds
    ///   for all of them; ``PostgresError`` when the database is lost, after what was done until then is told.
    func act(
        on ids: [Int64],
        as action: String,
        _ acting: ActingOptions,
        _ write: WriteOptions,
        asking question: String?,
        _ act: @Sendable (Int64, isolated Connection) throws -> (done: String, would: String)
    ) async throws -> ExitStatus {
        let signature = try signature(acting)
        if !write.dryRun, !ids.isEmpty, let question { try confirm(question, write) }
        let (results, failure) = try await withConnection { connection in
            var results: [JobResult] = []
            for id in ids {
                do {
                    let told = try await connection.transaction(rehearsed: write.dryRun) { connection in
                        let told = try act(id, connection)
                        try signature.log(action, facts: ["job": "\(id)"], on: connection)
                        return told
                    }
                    results.append(JobResult(id: id, result: write.dryRun ? told.would : told.done))
                } catch let error as JobQueueError where error.code != .invalidField {
                    results.append(JobResult(id: id, result: error.message, error: error))
                } catch let error as PostgresError where error.connectionUsable {
                    // Such as a lock that its handler keeps.
                    results.append(JobResult(id: id, result: error.report.message, error: error))
                } catch {
                    return (results, error as (any Error)?)
                }
            }
            return (results, nil)
        }
        guard let failure else { return try JobResult.write(results, self) }
        if !results.isEmpty { _ = try JobResult.write(results, self) }
        throw failure
    }

    /// `job 42`, or `3 jobs`.
    static func named(_ ids: [Int64]) -> String {
        ids.count == 1 ? "job \(ids[0])" : "\(ids.count) jobs"
    }
}
