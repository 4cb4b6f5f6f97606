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
    /// Why it is parked, is to be or was cancelled, or was discarded.
    package let reason: String?
    /// Since when a job that must not be given up is beyond its usual attempts.
    package let exhaustedAt: Date?
    /// The id of the worker that runs or ended it.
    package let worker: Int64?
    /// The text of the last error.
    package let lastError: String?
    /// When it was recorded.
    package let lastErrorAt: Date?
    /// When its present state began, as far as the row tells: its end, else the latest of creation, claim, cancel
    /// request, last error, being told to wait and being made runnable.
    package let changedAt: Date
}

/// One job with everything that belongs to it.
package struct JobDetails: Sendable {
    package let record: JobRecord
    package let arguments: JobDocument
    package let argumentsVersion: Int16
    /// The attempts of this job where they differ from the kind's.
    package let maxAttempts: Int16?
    /// What its handler last said about how far it is, or was when it ended.
    package let progress: JobDocument?
    package let output: JobDocument?
    /// `[{at, attempt, error}]`, oldest first, the last ten.
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

    /// Whether it is somebody who works on one job by hand, and takes no other.
    package var holdsByHand: Bool { kinds.isEmpty }
}

/// Which jobs are meant.
package struct JobFilter: Sendable, Hashable {
    /// Jobs in one of these; none for all unfinished.
    package var states: [JobState] = []
    /// Jobs of one of these; none for all.
    package var queues: [String] = []
    /// Jobs of one of these; none for all.
    package var kinds: [String] = []
    package var uniqueKey: String?
    /// Only jobs that are beyond their usual attempts.
    package var isExhausted = false
    package var limit = 100

    package init() {}

    /// What ``limit`` may be.
    package static let limits = 1...100_000

    /// Checks every field.
    ///
    /// - Throws: ``JobQueueError`` naming the field out of form, or that does not go with the state.
    package func check() throws(JobQueueError) {
        for queue in queues { try JobField.checkName(queue, field: "queue") }
        for kind in kinds { try JobField.checkName(kind, field: "kind") }
        try JobField.checkKey(uniqueKey, field: "uniqueKey")
        try JobField.checkRange(limit, Self.limits, field: "limit")
        if isExhausted, states.contains(where: \.isEnded) {
            throw .invalid("exhausted", "is of jobs that are not done: leave the state out")
        }
    }
}
