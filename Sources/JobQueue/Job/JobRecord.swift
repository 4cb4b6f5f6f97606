#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A job as operators see it, unfinished or finished.
package struct JobRecord: Sendable, Hashable, Codable {
    package let id: Int64
    package let state: JobState
    package let queue: String
    package let kind: String
    package let priority: Int16
    package let attempt: Int16
    package let crashes: Int16
    package let createdAt: Date
    package let runAt: Date
    package let claimedAt: Date?
    package let finishedAt: Date?
    package let uniqueKey: String?
    package let limitKey: String?
    /// Why it is parked, being cancelled, cancelled or discarded.
    package let reason: String?
    /// Since when a job that must not be discarded has exceeded its usual attempts.
    package let exhaustedAt: Date?
    /// The id of the worker that runs or ended it.
    package let worker: Int64?
    /// The text of the last error.
    package let lastError: String?
    /// When the last error was recorded.
    package let lastErrorAt: Date?
    /// When its current state began, as far as the row shows: when it ended, or else the latest of its creation, claim,
    /// cancel request, last error, and being told to wait or made runnable.
    package let changedAt: Date
}

/// One job with all its data.
package struct JobDetails: Sendable {
    package let record: JobRecord
    package let arguments: JobDocument
    package let argumentsVersion: Int16
    /// The attempts of this job if they differ from the kind's.
    package let maxAttempts: Int16?
    /// The progress that its handler last stored.
    package let progress: JobDocument?
    package let output: JobDocument?
    /// The last ten errors as `[{at, attempt, error}]`, oldest first.
    package let errors: JobDocument?
    package let isCancelRequested: Bool
}

/// A worker as operators see it.
package struct WorkerRecord: Sendable, Hashable, Codable {
    package let id: Int64
    package let name: String
    package let version: String
    package let status: WorkerStatus
    package let startedAt: Date
    package let beatAt: Date
    package let slots: Int32
    package let running: Int32
    package let queues: [String]
    package let kinds: [String]

    /// Whether this registration holds one job by hand, and takes no other.
    package var holdsByHand: Bool { kinds.isEmpty }
}

/// A filter for jobs.
package struct JobFilter: Sendable, Hashable {
    /// Only jobs in one of these states; if empty, all unfinished jobs.
    package var states: [JobState] = []
    /// Only jobs of one of these; if empty, all.
    package var queues: [String] = []
    /// Only jobs of one of these; if empty, all.
    package var kinds: [String] = []
    package var uniqueKey: String?
    /// Only jobs that have exceeded their usual attempts.
    package var isExhausted = false
    package var limit = 100

    package init() {}

    /// The bounds of ``limit``.
    package static let limits = 1...100_000

    /// Checks every field.
    ///
    /// - Throws: ``JobQueueError`` naming the field that is invalid, or that contradicts the states.
    package func check() throws(JobQueueError) {
        for queue in queues { try JobField.checkName(queue, field: "queue") }
        for kind in kinds { try JobField.checkName(kind, field: "kind") }
        try JobField.checkKey(uniqueKey, field: "uniqueKey")
        try JobField.checkRange(limit, Self.limits, field: "limit")
        if isExhausted, states.contains(where: \.isEnded) {
            throw .invalid("exhausted", "applies to unfinished jobs only: leave out the state")
        }
    }
}
