package import JobQueue
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Everything that is recorded about one deletion request.
package struct DeletionDetails: Sendable {
    /// A step as recorded.
    package struct Step: Sendable, Hashable {
        package let step: DeletionStep
        package let runs: Int
        package let startedAt: Date?
        package let finishedAt: Date?
        package let outcome: StepOutcome?
        package let facts: StepFacts?
    }

    /// The job that drives the request.
    package struct Job: Sendable, Hashable {
        package let id: Int64
        package let state: JobState
        package let runAt: Date
        package let attempt: Int
        /// Why an attempt last failed, including by its time limit; nil if none has.
        package let lastError: String?
        package let lastErrorAt: Date?
    }

    package let summary: DeletionSummary
    package let steps: [Step]
    /// nil if the request has ended, or until the upkeep gives it a job again.
    package internal(set) var job: Job?
    /// The number of its receipt.
    package let receipt: Int64?
    /// Whether an operator let it continue without Apple.
    package let withoutApple: Bool
    /// Its findings that may stay, as operators decided: already counted as accepted, or by its next search.
    package let accepted: [AcceptedColumn]
    /// The operators' brakes on the request, or on more than it.
    package let brakes: StandingBrakes

    /// Reads a request; nil if there is none.
    package static func read(_ request: UUID, on connection: isolated Connection) throws -> DeletionDetails? {
        guard let summary = try DeletionSummary.find(request, on: connection) else { return nil }
        let steps = try connection.query(
            """
            select step, runs, started_at, finished_at, outcome, facts
            from accountctl.deletion_steps
            where request_id = \(request)
            """,
            as: (DeletionStep, Int32, Date?, Date?, StepOutcome?, JSON<StepFacts>?).self
        ).map {
            Step(step: $0, runs: Int($1), startedAt: $2, finishedAt: $3, outcome: $4, facts: $5?.value)
        }
        // Once a request has ended, a worker takes its job only to end it.
        let key = DeletionJobs.key(of: request)
        let job = summary.finishedAt == nil ? try JobQueue().find(keys: [key], on: connection).first : nil
        let found =
            (summary.situation?.findings ?? []) + steps.flatMap { $0.facts?.accepted ?? [] }
        return DeletionDetails(
            summary: summary,
            steps: steps.sorted { $0.step < $1.step },
            job: job.map {
                Job(
                    id: $0.id,
                    state: $0.state,
                    runAt: $0.runAt,
                    attempt: Int($0.attempt),
                    lastError: $0.lastError,
                    lastErrorAt: $0.lastErrorAt
                )
            },
            receipt: try connection.first(
                "select number from accountctl.deletion_receipts where request_id = \(request)",
                as: Int64.self
            ),
            withoutApple: try connection.first(
                "select without_apple from accountctl.deletion_requests where id = \(request)",
                as: Bool.self
            ) ?? false,
            accepted: found.isEmpty ? [] : try AcceptedColumn.all(among: found.map(\.column), on: connection),
            brakes: try StandingBrakes.read(of: request, on: connection)
        )
    }
}
