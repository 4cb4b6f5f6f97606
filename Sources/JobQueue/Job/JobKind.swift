#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A kind of job, declared once and used both to enqueue and to register its handler.
///
/// ```swift
/// static let exchange = JobKind<CodeReference>("apple.exchange", queue: "apple", priority: 0, timeout: .seconds(20))
///
/// try registry.register(exchange) { code, context in
///     // Effects that must not happen twice commit together with the end of the job.
///     try await context.pool.withTransaction { connection in
///         try use(code, on: connection)
///         try context.complete(on: connection)
///     }
///     return .completedInTransaction
/// }
///
/// // The job exists if and only if the code is stored; workers are woken after the commit.
/// try await pool.withTransaction { connection in
///     try store(code, on: connection)
///     try queue.enqueue([exchange.job(code.reference)], on: connection)
/// }
/// try await queue.wake([exchange.queue], in: pool)
/// ```
package struct JobKind<Arguments: Codable & Sendable>: Sendable {
    /// How many jobs of the kind run at once over all workers.
    package struct Limits: Sendable, Hashable {
        /// Jobs of the kind as a whole; nil for any number.
        var running: Int?
        /// Jobs of the kind and one limit key; nil for any number.
        var runningPerKey: Int?

        /// Creates limits for the kind as a whole, per key, or both; they are checked when the kind is registered.
        package init(running: Int? = nil, runningPerKey: Int? = nil) {
            self.running = running
            self.runningPerKey = runningPerKey
        }
    }

    /// Rewrites arguments of one version into those of the next.
    package typealias Upcast = @Sendable (JobDocument) throws -> JobDocument

    package let name: String
    package let queue: String
    /// The version of the encoding of ``Arguments``; when that changes, increment it and add an upcast.
    package let version: Int16
    let priority: Int16
    /// Whether its jobs may use a worker's reserved slots: for short jobs that cannot wait for long ones.
    let isUrgent: Bool
    let retry: RetryPolicy
    /// How long one attempt may take; after that its task is cancelled and the attempt fails.
    let timeout: Duration
    /// How often the process may die under the job before it is discarded, or tried daily if it has no last attempt.
    let crashLimit: Int
    let limits: Limits
    /// The functions that rewrite arguments from each older version to the next; without one, that version's arguments
    /// are read as they are.
    let upcasts: [Int16: Upcast]

    /// Declares a kind; the fields are checked when it is registered and when a job is created.
    package init(
        _ name: String,
        queue: String = "default",
        version: Int16 = 1,
        priority: Int16 = 5,
        isUrgent: Bool = false,
        retry: RetryPolicy = .exponential(),
        timeout: Duration = .seconds(60),
        crashLimit: Int = 3,
        limits: Limits = Limits(),
        upcasts: [Int16: Upcast] = [:]
    ) {
        self.name = name
        self.queue = queue
        self.version = version
        self.priority = priority
        self.isUrgent = isUrgent
        self.retry = retry
        self.timeout = timeout
        self.crashLimit = crashLimit
        self.limits = limits
        self.upcasts = upcasts
    }

    /// Creates a job of this kind, to be enqueued.
    ///
    /// Without `runAt` it runs now, by the server's clock; without `priority` it has the kind's. While a job with the
    /// `uniqueKey` is unfinished, no other is added; all kinds share these keys. `limitKey` is the key by which the
    /// limit per key counts.
    ///
    /// - Throws: ``JobQueueError`` naming the invalid field, or `EncodingError`.
    package func job(
        _ arguments: Arguments,
        runAt: Date? = nil,
        priority: Int16? = nil,
        uniqueKey: String? = nil,
        limitKey: String? = nil,
        maxAttempts: Int16? = nil
    ) throws -> NewJob {
        try NewJob(
            kind: name,
            queue: queue,
            arguments: JobDocument(encoding: arguments),
            argumentsVersion: version,
            priority: priority ?? self.priority,
            runAt: runAt,
            uniqueKey: uniqueKey,
            limitKey: limitKey,
            maxAttempts: maxAttempts
        )
    }

    /// Decodes stored arguments, of this version or an older one.
    ///
    /// - Throws: ``JobQueueError`` with code `undecodableArguments`, or `newerArguments` for a version above this one;
    ///   the message names the coding path, never the value.
    func decode(_ document: JobDocument, version stored: Int16) throws -> Arguments {
        guard stored <= version else {
            throw JobQueueError(
                .newerArguments,
                field: "arguments",
                "arguments are of version \(stored), this release reads up to \(version)"
            )
        }
        do {
            var document = document
            for step in stored..<version {
                guard let upcast = upcasts[step] else { continue }
                document = try upcast(document)
            }
            return try document.decode(as: Arguments.self)
        } catch let error as DecodingError {
            throw JobQueueError(.undecodableArguments, field: "arguments", "arguments cannot be read: \(error.place)")
        } catch {
            throw JobQueueError(
                .undecodableArguments,
                field: "arguments",
                "arguments of version \(stored) cannot be brought to version \(version): \(type(of: error))"
            )
        }
    }

    /// The error for arguments of a job of the kind that this release cannot decode; nil if it can.
    package func problem(withArgumentsOf job: NewJob) -> JobQueueError? {
        do {
            _ = try decode(job.arguments, version: job.argumentsVersion)
            return nil
        } catch {
            let reason = (error as? JobQueueError)?.message ?? "arguments cannot be read"
            return JobQueueError(.invalidField, field: "arguments", reason)
        }
    }

    func check() throws(JobQueueError) {
        try JobField.checkName(name, field: "kind")
        try JobField.checkName(queue, field: "queue")
        try JobField.checkRange(Int(version), 1...32_000, field: "version")
        try JobField.checkRange(Int(priority), 0...9, field: "priority")
        try JobField.checkRange(timeout, .milliseconds(10)...(.seconds(7 * 86_400)), field: "timeout")
        try JobField.checkRange(crashLimit, 1...1000, field: "crashLimit")
        if let running = limits.running { try JobField.checkRange(running, 1...100_000, field: "limits.running") }
        if let running = limits.runningPerKey {
            try JobField.checkRange(running, 1...100_000, field: "limits.runningPerKey")
        }
        try retry.check()
    }
}

extension DecodingError {
    /// Where decoding failed and how, without the value.
    var place: String {
        func path(_ context: Context) -> String {
            context.codingPath.isEmpty ? "the top" : context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        return switch self {
        case .typeMismatch(let type, let context): "\(path(context)) is not \(type)"
        case .valueNotFound(let type, let context): "\(path(context)) is null, not \(type)"
        case .keyNotFound(let key, let context): "\(key.stringValue) is missing at \(path(context))"
        case .dataCorrupted(let context): "\(path(context)) is malformed"
        @unknown default: "malformed"
        }
    }
}
