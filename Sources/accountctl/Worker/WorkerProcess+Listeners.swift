import AccountLifecycle
import HTTPService
import JobQueue
import Logging
import Postgres
import ServiceLifecycle
import Settings
import SignInWithApple
import Synchronization
import Telemetry

extension WorkerProcess {
    private var adminAddress: ConfiguredAddress? {
        settings.listeners.admin.map { ConfiguredAddress(key: "listen.admin", address: $0) }
    }

    private var publicAddress: ConfiguredAddress? {
        settings.listeners.publicAddress.map { ConfiguredAddress(key: "listen.public", address: $0) }
    }

    /// Refuses an address that cannot be bound, before anything else is logged.
    ///
    /// - Throws: ``CommandError`` that names the setting.
    func checkAddresses() async throws {
        try await ConfiguredAddress.check([adminAddress, publicAddress].compactMap(\.self)[...])
    }

    /// The listeners that have an address in the settings, and the services that they need.
    ///
    /// - Throws: ``CommandError`` if the listener for Apple's notifications is configured and Sign in with Apple is
    ///   not.
    func listeners(_ parts: ProcessParts) throws -> [any Service] {
        var listeners: [any Service] = []
        let wakeUp = WakeService(pool: parts.pools.control, logger: parts.logger)
        if let admin = adminListener(parts, wakeUp.queue) { listeners += [wakeUp, admin] }
        if let intake = try publicListener(parts) { listeners.append(intake) }
        return listeners
    }

    /// The listener for health, metrics and wake-ups.
    private func adminListener(_ parts: ProcessParts, _ queue: JobQueue) -> ConfiguredListener<AdminListener>? {
        guard let place = adminAddress else { return nil }
        let (metrics, pool, logger) = (parts.metrics, parts.pools.control, parts.logger)
        let listener = AdminListener(
            address: place.listened,
            health: parts.health,
            metrics: { metrics.text() },
            wake: { await Self.wake(queue, pool, logger) },
            logger: logger,
            started: { port in logger.notice("admin listener started", metadata: ["port": "\(port)"]) }
        )
        return ConfiguredListener(place: place, listener: listener)
    }

    /// The listener for Apple's notifications.
    private func publicListener(_ parts: ProcessParts) throws -> ConfiguredListener<PublicListener>? {
        guard let place = publicAddress else { return nil }
        let logger = parts.logger
        guard let apple = parts.apple else {
            throw CommandError(
                .usage,
                "listen.public is set, but Sign in with Apple is not configured",
                hint: "Complete the section [apple]: notifications are verified for its client ids."
            )
        }
        let intake = NotificationIntake(pool: parts.pools.intake, apple: apple, logger: logger)
        let hasToldOfOthers = Atomic(false)
        let listener = PublicListener(
            address: place.listened,
            logger: logger,
            notification: { body in
                switch try await intake.take(body) {
                case .stored, .duplicate: return .accepted
                case .refused(let problem):
                    // Logged once: the holder of a notification that Apple signed for another app can send it any
                    // number of times.
                    if problem == .audience, !hasToldOfOthers.exchange(true, ordering: .relaxed) {
                        logger.warning(
                            "a notification that Apple signed is refused, since it is for a client id that is not configured; further ones are not logged",
                            metadata: ["configured": "\(apple.clientIDs.joined(separator: ", "))"]
                        )
                    }
                    return .refused
                case .notNow: return .later
                }
            },
            started: { port in logger.notice("public listener started", metadata: ["port": "\(port)"]) }
        )
        return ConfiguredListener(place: place, listener: listener)
    }

    private static func wake(_ queue: JobQueue, _ pool: Pool, _ logger: Logger) async {
        do {
            try await queue.wake(Set(AccountLifecycle.queues.values), in: pool)
        } catch {
            // Polling finds the work a moment later.
            logger.warning("could not wake workers", metadata: ["reason": "\(error)"])
        }
    }

    /// Whether the database answers.
    static func databaseVerdict(_ pool: Pool) async -> Health.Verdict {
        do {
            try await pool.withConnection { connection in
                _ = try connection.one("select 1", as: Int.self, deadline: .seconds(2))
            }
            return .ready
        } catch {
            return .notReady("the database cannot be reached")
        }
    }
}
