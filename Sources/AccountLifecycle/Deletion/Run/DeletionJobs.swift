package import JobQueue
import Logging
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The jobs that drive deletions; their arguments hold ids of our own rows only.
package enum DeletionJobs {
    /// Which request a job drives.
    struct Request: Codable, Sendable, Hashable {
        let request: UUID
    }

    /// Which stored code a job exchanges.
    struct Code: Codable, Sendable, Hashable {
        let code: Int64
    }

    /// Drives one request until it ends.
    ///
    /// Never given up: failed long enough it is tried daily, and alarmed.
    static let delete = JobKind<Request>(
        "account.delete",
        queue: "deletions",
        retry: .withoutLastAttempt(attempts: 50, base: .seconds(30)),
        // One statement may take half an hour, and an account may need several, each in its turn: what is cut off
        // begins anew.
        timeout: .seconds(6 * 3600),
        // Steps are repeatable: a few deploys gone wrong are no reason to wait a day.
        crashLimit: 20
    )

    /// Exchanges one code.
    ///
    /// The first in its queue, and never behind deletions that wait for a pass: in five minutes a code is worth
    /// nothing.
    static let exchange = JobKind<Code>(
        "apple.exchange_code",
        queue: "apple",
        priority: 0,
        isUrgent: true,
        retry: .exponential(attempts: 100, base: .seconds(2), factor: 1.5, cap: .seconds(20)),
        timeout: CodeExchange.longest
    )

    /// Tries again to revoke what could not be revoked while its account was there.
    static let revocations = JobKind<NoArguments>(
        "apple.retry_revocations",
        queue: "apple",
        retry: .periodic(every: .seconds(600)),
        timeout: .seconds(600)
    )

    /// Keeps the books: wipes codes, gives each open request its job, forgets the ids of accounts that went another
    /// way.
    static let upkeep = JobKind<NoArguments>(
        "deletion.upkeep",
        queue: "deletions",
        retry: .periodic(every: .seconds(60)),
        timeout: .seconds(300)
    )

    /// The key by which a request has one live job.
    static func key(of request: UUID) -> String { keyPrefix + request.text }

    /// The key of the live job of the request that an expression names, as an expression.
    static func key(of request: Statement) -> Statement { "\(keyPrefix)::text || \(request)" }

    private static let keyPrefix = "account.delete:"

    /// The job of a request; without a time it runs now.
    static func job(of request: UUID, runAt: Date? = nil) throws -> NewJob {
        try delete.job(Request(request: request), runAt: runAt, uniqueKey: key(of: request))
    }

    /// The requests that some of these jobs drive, by job.
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

    /// Registers every handler and the periodic jobs.
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

    /// Tells of a code that waits, once and while what it waits for can still be mended, and of one that came to
    /// nothing.
    private static func tell(_ outcome: CodeExchange.Outcome, of code: Int64, in context: JobContext) {
        switch outcome {
        case .again(_, let situation) where context.attempt == 1:
            context.logger.notice(
                "an authorization code waits, and is tried again until it runs out",
                metadata: [
                    "code_id": "\(code)", "client_id": "\(situation.subject ?? "")",
                    "reason": "\(situation.detail ?? situation.code.rawValue)",
                ]
            )
        case .settled(let state) where state == .expired || state == .wrongAccount:
            context.logger.notice(
                "an authorization code came to nothing: no credential is held of it",
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
        case .ended(.none): .discard(reason: "the request does not exist")
        case .ended(.some): .completed()
        case .until(let date): .snooze(until: date)
        case .failed(let delay, let situation): .retry(after: delay, reason: situation.code.rawValue)
        }
    }

    /// Has the job of a request run now, and makes one where there is none.
    static func wake(_ request: UUID, on connection: isolated Connection) throws {
        try wake([request], on: connection)
    }

    /// Locks the jobs of requests until the transaction ends, for whoever locks a request and wakes it then: a worker
    /// takes them in this order, its job's row as its fence and the request's after it.
    static func lock(_ requests: [UUID], on connection: isolated Connection) throws {
        try JobQueue().lock(keys: requests.map { key(of: $0) }, on: connection)
    }

    /// How many are woken at a time where there may be very many.
    static let wokenTogether = 1000

    /// Has the jobs of requests run now, and makes those that are missing; one that runs already runs once more when it
    /// would wait.
    ///
    /// Waits for what a running job writes: where the requests are locked, ``lock(_:on:)`` comes before.
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
