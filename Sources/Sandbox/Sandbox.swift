import Hummingbird
package import Logging
import NIOCore
import Postgres

/// A faithful local stand-in for Sign in with Apple's server side and for Supabase Storage, including their pitfalls.
///
/// ```swift
/// try await Sandbox.with { sandbox in
///     let code = try sandbox.apple.issueCode(clientID: "com.example.app")
///     sandbox.faults.set(.appleError("invalid_client").times(2), for: .appleToken)
///     // Talk to sandbox.baseURL as to https://appleid.apple.com
/// }
/// ```
///
/// All keys, registrations and tokens are generated at run time and exist only as long as the sandbox.
package final class Sandbox: Sendable {
    /// The address of the simulated services, without a trailing slash.
    package let baseURL: String

    /// The port of ``baseURL``.
    package let port: Int

    /// The simulated Apple.
    package let apple: AppleSandbox

    /// The simulated Storage.
    package let storage: StorageSandbox

    /// The simulated management API.
    package let project: ProjectSandbox

    /// The sender of Apple's notifications.
    package let notifications: NotificationSender

    /// The active faults.
    package let faults: Faults

    /// The journal of requests.
    package let journal: RequestJournal

    /// The clock that determines the validity of codes, tokens and client secrets.
    package let clock: SandboxClock

    private init(parts: Parts, host: String, port: Int) {
        baseURL = "http://\(host):\(port)"
        self.port = port
        apple = parts.apple
        storage = StorageSandbox(url: baseURL + "/storage/v1", keys: parts.keys, files: parts.files)
        project = parts.project
        notifications = parts.notifications
        faults = parts.faults
        journal = parts.journal
        clock = parts.clock
    }

    /// Runs a sandbox for as long as `body` runs.
    ///
    /// - Throws: what `body` throws, and the server's error if it cannot listen. Requests that a fault still holds at
    ///   the end are cancelled.
    package static func with<Result: Sendable>(
        _ configuration: SandboxConfiguration = SandboxConfiguration(),
        logger: Logger = Logger(label: "accountctl.sandbox"),
        _ body: @Sendable (Sandbox) async throws -> Result
    ) async throws -> Result {
        guard let storage = configuration.storage else {
            return try await serve(Parts(configuration, pool: nil, logger: logger), configuration, logger, body)
        }
        var pool = PoolConfiguration(connection: ConnectionConfiguration(conninfo: storage.conninfo))
        pool.maximumConnections = storage.maximumConnections
        pool.connection.applicationName = "accountctl-sandbox"
        // Planning a listing each time would cost more than the listing itself.
        pool.connection.sessionSettings = ["plan_cache_mode": "force_generic_plan"]
        return try await Pool.withPool(pool, logger: logger) { pool in
            try await serve(Parts(configuration, pool: pool, logger: logger), configuration, logger, body)
        }
    }

    private static func serve<Result: Sendable>(
        _ parts: Parts,
        _ configuration: SandboxConfiguration,
        _ logger: Logger,
        _ body: @Sendable (Sandbox) async throws -> Result
    ) async throws -> Result {
        // The server is stopped by cancellation, so that held requests end too; it logs that as an error, which is not
        // one here.
        var quiet = logger
        quiet.logLevel = .critical
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            responder: parts.responder,
            configuration: ApplicationConfiguration(address: .hostname(configuration.host, port: configuration.port)),
            onServerRunning: { channel in
                listening.yield(channel.localAddress?.port ?? configuration.port)
            },
            logger: quiet
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends the wait for the port if the server cannot listen.
                defer { listening.finish() }
                try await application.run()
            }
            group.addTask { await parts.notifications.run() }
            var iterator = ports.makeAsyncIterator()
            guard let port = await iterator.next() else {
                group.cancelAll()
                try await group.waitForAll()
                throw SandboxError("the server ended before it listened")
            }
            let sandbox = Sandbox(parts: parts, host: configuration.host, port: port)
            do {
                let result = try await body(sandbox)
                group.cancelAll()
                return result
            } catch {
                group.cancelAll()
                throw error
            }
        }
    }

    /// The parts of a sandbox before it listens.
    private struct Parts: Sendable {
        let apple: AppleSandbox
        let notifications: NotificationSender
        let faults = Faults()
        let journal = RequestJournal()
        let clock = SandboxClock()
        let keys: StorageKeys
        let files: FileStore?
        let project: ProjectSandbox
        let responder: SandboxResponder

        init(_ configuration: SandboxConfiguration, pool: Pool?, logger: Logger) throws {
            let clock = clock
            let keys = try StorageKeys(now: clock.now)
            let files = configuration.storage.map { FileStore(folder: $0.folder) }
            self.keys = keys
            self.files = files
            let apple = try AppleSandbox(clients: configuration.clients, clock: clock)
            let notifications = NotificationSender(apple: apple, url: configuration.notificationURL, logger: logger)
            self.apple = apple
            self.notifications = notifications
            let project = ProjectSandbox(clients: configuration.clients)
            self.project = project
            responder = SandboxResponder(
                clock: clock,
                faults: faults,
                journal: journal,
                apple: AppleEndpoints(apple: apple, clock: clock) { ended in
                    guard let notification = apple.consentRevoked(ended, at: clock.now) else { return }
                    notifications.enqueue(notification)
                },
                storage: StorageEndpoints(
                    keys: keys,
                    files: files,
                    scope: pool.map { StorageScope(pool: $0) },
                    clock: clock,
                    deleteLimit: configuration.storage?.deleteLimit
                ),
                project: project,
                control: ControlEndpoints(
                    apple: apple,
                    keys: keys,
                    files: files,
                    notifications: notifications,
                    faults: faults,
                    journal: journal,
                    clock: clock
                )
            )
        }
    }
}
