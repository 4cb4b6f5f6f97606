import JobQueue
import Postgres

/// The jobs that follow credentials; their arguments hold only ids of our own rows.
enum CredentialJobs {
    /// Which event a job handles.
    struct Event: Codable, Sendable, Hashable {
        let event: Int64
    }

    /// Handles one event.
    static let handle = JobKind<Event>(
        "apple.handle_event",
        queue: "apple",
        priority: 2,
        retry: .exponential(attempts: 25, base: .seconds(10), cap: .seconds(3600)),
        timeout: .seconds(120)
    )

    /// Handles what devices reported, and events of Apple that are still unhandled.
    static let sweepEvents = JobKind<NoArguments>(
        "apple.sweep_events",
        queue: "apple",
        priority: 3,
        retry: .periodic(every: .seconds(60)),
        timeout: .seconds(600)
    )

    /// Checks the credentials whose daily check is due.
    static let check = JobKind<NoArguments>(
        "apple.check_credentials",
        queue: "apple",
        priority: 7,
        retry: .periodic(every: .seconds(60)),
        timeout: .seconds(3600)
    )

    /// Verifies the notifications in the inbox.
    static let inbox = JobKind<NoArguments>(
        "apple.read_inbox",
        queue: "apple",
        priority: 2,
        retry: .periodic(every: .seconds(60)),
        timeout: .seconds(300)
    )

    /// Registers every handler and the periodic jobs.
    ///
    /// - Throws: ``JobQueueError`` when a kind is registered already.
    static func register(in registry: inout JobRegistry, services: CredentialServices) throws {
        let events = CredentialEvents(services)
        let checks = CredentialChecks(services)
        let inboxReader = NotificationInbox(services)
        try registry.register(handle) { arguments, _ in
            switch try await events.handle(arguments.event) {
            case .settled, .waiting: .completed()
            case .again(let pause): .retry(after: pause, reason: "Apple gave no answer")
            }
        }
        try registry.register(sweepEvents) { _, _ in
            .completed(output: try JobDocument(encoding: ["handled": try await events.handleWaiting()]))
        }
        try registry.register(check) { _, _ in
            .completed(output: try JobDocument(encoding: try await checks.sweep()))
        }
        try registry.register(inbox) { _, _ in
            .completed(output: try JobDocument(encoding: ["read": try await inboxReader.read()]))
        }
        for periodic in try periodic() { try registry.schedule(periodic) }
    }

    static func periodic() throws -> [PeriodicJob] {
        try [sweepEvents, check, inbox].map { kind in
            try PeriodicJob(name: kind.name, schedule: "* * * * *", job: kind.job(NoArguments(), uniqueKey: kind.name))
        }
    }

    /// Has an event handled once the caller's transaction commits.
    static func enqueueHandling(of event: Int64, on connection: isolated Connection) throws {
        let queue = JobQueue()
        let job = try handle.job(Event(event: event), uniqueKey: "\(handle.name):\(event)")
        try queue.enqueueAndForget([job], on: connection)
        try queue.wakeAtCommit([handle.queue], on: connection)
    }
}
