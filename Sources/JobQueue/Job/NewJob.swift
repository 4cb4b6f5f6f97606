#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A job to be enqueued; see ``JobKind/job(_:runAt:priority:uniqueKey:limitKey:maxAttempts:)``.
package struct NewJob: Sendable, Hashable {
    package let kind: String
    package let queue: String
    let arguments: JobDocument
    package let argumentsVersion: Int16
    let priority: Int16
    /// When to run it; nil for now, by the server's clock.
    let runAt: Date?
    /// The unique key: at most one unfinished job has it.
    package let uniqueKey: String?
    /// The limit key: jobs of one kind and limit key share the kind's limit per key.
    let limitKey: String?
    /// The attempts of this job if they differ from the kind's.
    let maxAttempts: Int16?

    /// Creates a job after checking every field.
    ///
    /// - Throws: ``JobQueueError`` with code `invalidField`, naming the first invalid field.
    package init(
        kind: String,
        queue: String,
        arguments: JobDocument = .empty,
        argumentsVersion: Int16 = 1,
        priority: Int16 = 5,
        runAt: Date? = nil,
        uniqueKey: String? = nil,
        limitKey: String? = nil,
        maxAttempts: Int16? = nil
    ) throws(JobQueueError) {
        try JobField.checkName(kind, field: "kind")
        try JobField.checkName(queue, field: "queue")
        try JobField.checkRange(Int(argumentsVersion), 1...32_000, field: "argumentsVersion")
        try JobField.checkRange(Int(priority), 0...9, field: "priority")
        try JobField.checkKey(uniqueKey, field: "uniqueKey")
        try JobField.checkKey(limitKey, field: "limitKey")
        if let maxAttempts { try JobField.checkRange(Int(maxAttempts), 1...32_000, field: "maxAttempts") }
        guard arguments.json.utf8.count <= JobField.argumentsLimit else {
            throw .invalid("arguments", "must not exceed \(JobField.argumentsLimit) bytes as JSON")
        }
        guard arguments.json.utf8.first == 0x7B, !arguments.holdsNUL else {
            throw .invalid("arguments", "must be a JSON object without NUL characters")
        }
        if let runAt {
            // Postgres supports a much wider range, but nobody means such a time.
            guard runAt.timeIntervalSince1970.isFinite, (0...32_503_680_000).contains(runAt.timeIntervalSince1970)
            else {
                throw .invalid("runAt", "must be between the years 1970 and 3000")
            }
        }
        self.kind = kind
        self.queue = queue
        self.arguments = arguments
        self.argumentsVersion = argumentsVersion
        self.priority = priority
        self.runAt = runAt
        self.uniqueKey = uniqueKey
        self.limitKey = limitKey
        self.maxAttempts = maxAttempts
    }

    /// Whether it has only a kind, queue, arguments and priority.
    var isPlain: Bool { runAt == nil && uniqueKey == nil && limitKey == nil && maxAttempts == nil }
}

/// The result of enqueueing a job.
package struct EnqueuedJob: Sendable, Hashable {
    /// The job's id; if ``isNew`` is false, that of the job that already holds the unique key.
    package let id: Int64
    /// Whether a job was added.
    package let isNew: Bool

    init(id: Int64, isNew: Bool) {
        self.id = id
        self.isNew = isNew
    }
}
