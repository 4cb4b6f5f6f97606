import Hummingbird
package import Logging
import NIOCore
import Postgres

/// A faithful local stand-in for Sign in with Apple's server side and for Supabase Storage, traps included.
///
/// ```swift
/// try await Sandbox.with { sandbox in
///     let code = try sandbox.apple.issueCode(clientID: "com.example.app")
///     sandbox.faults.set(.appleError("invalid_client").times(2), for: .appleToken)
///     // Talk to sandbox.baseURL as to https://appleid.apple.com
/// }
/// ```
///
/// All keys, registrations and tokens are made at run time and die with the sandbox.
package final class Sandbox: Sendable {
    /// The address of the pretended services, without a trailing slash.
    package let baseURL: String

    /// The port of ``baseURL``.
    package let port: Int

    /// The pretended Apple.
    package let apple: AppleSandbox

    /// The pretended Storage.
    package let storage: StorageSandbox

    /// The pretended management API.
    package let project: ProjectSandbox

    /// Apple's notifications.
    package let notifications: NotificationSender

    /// What goes wrong.
    package let faults: Faults

    /// What was asked.
    package let journal: RequestJournal

    /// The clock that codes, tokens and client secrets are judged by.
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

    /// Runs a sandbox for as long as `body` does.
    ///
    /// - Throws: what `body` throws, and the server's error when it cannot listen. Requests that a fault still holds at
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
        // Planning a listing anew costs more than the listing itself.
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
        // Ending by cancellation, so that held requests end too, is an error to the server and none to us.
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
                // Ends the wait for the port when the server cannot listen.
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

    /// What a sandbox is made of, before it listens.
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
