package import JobQueue
import Logging
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The jobs that drive deletions; their arguments contain only ids of our own rows.
package enum DeletionJobs {
    /// The request that a job drives.
    struct Request: Codable, Sendable, Hashable {
        let request: UUID
    }

    /// The stored authorization code that a job exchanges.
    struct Code: Codable, Sendable, Hashable {
        let code: Int64
    }

    /// Drives one request until it ends.
    ///
    /// The job is never given up: after enough failures it is retried daily, and raises an alarm.
    static let delete = JobKind<Request>(
        "account.delete",
        queue: "deletions",
        retry: .withoutLastAttempt(attempts: 50, base: .seconds(30)),
        // One statement may take half an hour, and an account may need several, each waiting its turn; what is cut off
        // starts over.
        timeout: .seconds(6 * 3600),
        // Steps are repeatable, so a few deploys that went wrong are no reason to wait a day.
        crashLimit: 20
    )

    /// Exchanges one authorization code.
    ///
    /// It runs first in its queue, and never waits behind deletions that need a permit: a code expires after five
    /// minutes.
    static let exchange = JobKind<Code>(
        "apple.exchange_code",
        queue: "apple",
        priority: 0,
        isUrgent: true,
        retry: .exponential(attempts: 100, base: .seconds(2), factor: 1.5, cap: .seconds(20)),
        timeout: CodeExchange.longest
    )

    /// Retries the revocations that did not succeed while their account existed.
    static let revocations = JobKind<NoArguments>(
        "apple.retry_revocations",
        queue: "apple",
        retry: .periodic(every: .seconds(600)),
        timeout: .seconds(600)
    )

    /// Housekeeping: wipes codes, gives each open request its job, and erases the ids of accounts that were deleted by
    /// other means.
    static let upkeep = JobKind<NoArguments>(
        "deletion.upkeep",
        queue: "deletions",
        retry: .periodic(every: .seconds(60)),
        timeout: .seconds(300)
    )

    /// The unique key that limits a request to one live job.
    static func key(of request: UUID) -> String { keyPrefix + request.text }

    /// An expression for the unique key of the job of the request that `request` evaluates to.
    static func key(of request: Statement) -> Statement { "\(keyPrefix)::text || \(request)" }

    private static let keyPrefix = "account.delete:"

    /// The job of a request; without a time it runs now.
    static func job(of request: UUID, runAt: Date? = nil) throws -> NewJob {
        try delete.job(Request(request: request), runAt: runAt, uniqueKey: key(of: request))
    }

    /// The requests that some of these jobs drive, each with its job.
    ///
    /// - Throws: `PostgresError`.
    package static func requests(
        drivenBy jobs: [Int64],
        on connection: isolated Connection
    ) throws -> [(job: Int64, request: UUID)] {
        try JobQueue().find(ids: jobs, on: connection)
            .compactMap { job in
                guard job.kind == delete.name, let key = job.uniqueKey, key.hasPrefix(keyPrefix) else { return nil }
                return UUID(uuidString: String(key.dropFirst(keyPrefix.count))).map { (job.id, $0) }
            }
    }

    /// Registers all handlers and the periodic jobs.
    package static func register(in registry: inout JobRegistry, services: DeletionServices) throws {
        let driver = DeletionDriver(services)
        let exchange = CodeExchange(services)
        try registry.register(delete) { arguments, context in
            let pause = try await driver.drive(arguments.request, fence: context.fence) {
                try context.requireLease(outlasting: $0)
            }
            return outcome(of: pause)
        }
        try registry.register(self.exchange) { arguments, context in
            try context.requireLease(outlasting: services.apple.longestCall)
            let outcome = try await exchange.run(arguments.code, fence: context.fence)
            tell(outcome, of: arguments.code, in: context)
            return switch outcome {
            case .settled, .handedOver, .unknown: .completed()
            case .again(let delay, let situation): .retry(after: delay, reason: situation.code.rawValue)
            }
        }
        try registry.register(revocations) { _, context in
            let waiting = try await PendingRevocation.retry(with: services) {
                try context.requireLease(outlasting: $0)
            }
            return .completed(output: try JobDocument(encoding: ["waiting": waiting]))
        }
        try registry.register(upkeep) { _, _ in
            try await DeletionUpkeep.run(with: services)
            return .completed()
        }
        for periodic in try periodic() { try registry.schedule(periodic) }
    }

    /// Logs a code that waits, on the first attempt only, while its cause can still be fixed; and a code that gave no
    /// credential.
    private static func tell(_ outcome: CodeExchange.Outcome, of code: Int64, in context: JobContext) {
        switch outcome {
        case .again(_, let situation) where context.attempt == 1:
            context.logger.notice(
                "an authorization code waits to be exchanged, and is tried again until it expires",
                metadata: [
                    "code_id": "\(code)", "client_id": "\(situation.subject ?? "")",
                    "reason": "\(situation.detail ?? situation.code.rawValue)",
                ]
            )
        case .settled(let state) where state == .expired || state == .wrongAccount:
            context.logger.notice(
                "an authorization code gave no credential",
                metadata: ["code_id": "\(code)", "outcome": "\(state.rawValue)"]
            )
        default: break
        }
    }

    static func periodic() throws -> [PeriodicJob] {
        [
            try PeriodicJob(
                name: "deletion.upkeep",
                schedule: "* * * * *",
                job: upkeep.job(NoArguments(), uniqueKey: "deletion.upkeep")
            ),
            try PeriodicJob(
                name: "apple.retry_revocations",
                schedule: "*/10 * * * *",
                job: revocations.job(NoArguments(), uniqueKey: "apple.retry_revocations")
            ),
        ]
    }

    static func outcome(of pause: DeletionDriver.Pause) -> JobOutcome {
        switch pause {
        case .ended(.none): .cancelled(reason: "the request does not exist any more")
        case .ended(.some): .completed()
        case .until(let date): .snooze(until: date)
        case .failed(let delay, let situation): .retry(after: delay, reason: situation.code.rawValue)
        }
    }

    /// Makes the job of a request run now, and creates it if there is none.
    static func wake(_ request: UUID, on connection: isolated Connection) throws {
        try wake([request], on: connection)
    }

    /// Locks the jobs of requests until the transaction ends.
    ///
    /// For callers that lock a request and then wake it: a worker takes the same locks in the same order, first its
    /// job's row as its fence, then the request's.
    static func lock(_ requests: [UUID], on connection: isolated Connection) throws {
        try JobQueue().lock(keys: requests.map { key(of: $0) }, on: connection)
    }

    /// How many jobs are woken at a time where there may be very many.
    static let wokenTogether = 1000

    /// Makes the jobs of requests run now, and creates those that are missing; a job that is already running runs once
    /// more instead of waiting.
    ///
    /// Waits for row locks that a running job holds. Where the requests are locked too, call ``lock(_:on:)`` first.
    static func wake(_ requests: [UUID], on connection: isolated Connection) throws {
        guard !requests.isEmpty else { return }
        let queue = JobQueue()
        let keys = requests.map { key(of: $0) }
        let live = Set(try queue.find(keys: keys, on: connection).compactMap(\.uniqueKey))
        let missing = requests.filter { !live.contains(key(of: $0)) }
        try queue.enqueueAndForget(missing.map { try job(of: $0) }, on: connection)
        try queue.runNow(keys: keys, on: connection)
        try queue.wakeAtCommit([delete.queue], on: connection)
    }
}
