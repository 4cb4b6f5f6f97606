import AccountLifecycle
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CommandContext {
    /// Acts on each of several jobs, each in a transaction of its own, and lists the results.
    ///
    /// Each change is recorded in the operators' log. A dry run makes the same changes and rolls back, so that its
    /// results are accurate.
    ///
    /// - Throws: `PromptRefusal` if `question` is not answered with yes; `JobQueueError` for an invalid field, which
    ///   applies to all jobs; ``PostgresError`` if the connection is lost, after listing the results until then.
    func act(
        on ids: [Int64],
        as action: String,
        _ acting: ActingOptions,
        _ write: WriteOptions,
        asking question: String?,
        _ act: @Sendable (Int64, isolated Connection) throws -> JobAct
    ) async throws -> ExitStatus {
        let signature = try signature(acting)
        if !write.dryRun, !ids.isEmpty, let question { try confirm(question, yes: write.yes) }
        let (results, failure) = try await withConnection { connection in
            var results: [JobResult] = []
            for id in ids {
                do {
                    let told = try await connection.transaction(rehearsed: write.dryRun) { connection in
                        let told = try act(id, connection)
                        if case .done = told { try signature.log(action, facts: ["job": "\(id)"], on: connection) }
                        return told
                    }
                    let result =
                        switch told {
                        case .done(_, let would) where write.dryRun: JobResult(id: id, .wouldBeDone, would)
                        case .done(let done, _): JobResult(id: id, .done, done)
                        case .unchanged(let words): JobResult(id: id, .unchanged, words)
                        }
                    results.append(result)
                } catch let error as JobQueueError where error.code != .invalidField {
                    results.append(JobResult(id: id, error))
                } catch let error as PostgresError where error.connectionUsable {
                    // For example, the job's handler holds a lock.
                    results.append(JobResult(id: id, error))
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

    /// Acts on a queue or on a kind of jobs in one transaction, and shows the result.
    ///
    /// A change is recorded in the operators' log. A dry run makes the same change and rolls back, so that its result
    /// is accurate. `act` returns whether anything changed.
    ///
    /// - Throws: `PromptRefusal` if `question` is not answered with yes; `JobQueueError` for an invalid field;
    ///   ``PostgresError``.
    func act(
        onQueue queue: String? = nil,
        kind: String? = nil,
        as action: String,
        facts: [String: String],
        _ acting: ActingOptions,
        _ write: WriteOptions,
        asking question: String? = nil,
        words: (done: String, would: String, unchanged: String),
        _ act: @Sendable (OperatorSignature, isolated Connection) throws -> Bool
    ) async throws -> ExitStatus {
        let signature = try signature(acting)
        if !write.dryRun, let question { try confirm(question, yes: write.yes) }
        let isChanged = try await withConnection { connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                if let queue { try warnOfUnknown(queues: [queue], on: connection) }
                if let kind { try warnOfUnknown(kinds: [kind], on: connection) }
                let isChanged = try act(signature, connection)
                if isChanged { try signature.log(action, facts: facts, on: connection) }
                return isChanged
            }
        }
        let outcome: ActOutcome = isChanged ? write.dryRun ? .wouldBeDone : .done : .unchanged
        messages.note(isChanged ? write.dryRun ? words.would : words.done : words.unchanged)
        try output.show(QueueSheet.of(queue: queue, kind: kind, outcome))
        return .ok
    }

    /// Warns of jobs that carry out deletions: as long as a request is open, another job takes over.
    func warnOfDeletions(drivenBy ids: [Int64]) async throws {
        for driven in try await withConnection({ try DeletionJobs.requests(drivenBy: ids, on: $0) }) {
            let request = driven.request.text
            messages.warning(
                "job \(driven.job) carries out a deletion, which continues with another job; to end it: accountctl "
                    + "deletion cancel \(request)"
            )
        }
    }

    /// `job 42`, or `3 jobs`.
    static func named(_ ids: [Int64]) -> String {
        ids.count == 1 ? "job \(ids[0])" : "\(ids.count) jobs"
    }
}
