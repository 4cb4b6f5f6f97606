package import Logging
package import Metrics
package import Postgres
package import SignInWithApple

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Takes in Apple's notifications: verifies each, then stores and enqueues it in one transaction.
package struct NotificationIntake: Sendable {
    /// The outcome for a notification, and the answer to Apple.
    package enum Receipt: Sendable, Hashable {
        /// Stored, with this many events; answer 200.
        case stored(events: Int)
        /// Delivered before; answer 200.
        case duplicate
        /// Not from Apple, or not for us: counted, never stored; answer 400.
        case refused(TokenProblem)
        /// It may be valid later, since Apple's keys are unavailable or our clock is slow: answer 503, and Apple may
        /// retry.
        case notNow(TokenProblem)
    }

    private let pool: Pool
    private let apple: AppleClients
    private let logger: Logger
    private let factory: any MetricsFactory

    /// Creates an intake; it seals and opens nothing, so a process that does nothing else needs no sealing keys.
    ///
    /// The metric's series for what Apple sends exist at once, since nobody sees an increase in a series that starts
    /// with its first notification.
    package init(
        pool: Pool,
        apple: AppleClients,
        logger: Logger,
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        self.pool = pool
        self.apple = apple
        self.logger = logger
        self.factory = factory
        for receipt in [.stored(events: 0), .duplicate, .notNow(.unknownKey)] as [Receipt] { count(receipt, by: 0) }
    }

    /// Takes in the body of a request.
    ///
    /// - Parameters:
    ///   - body: `{"payload": "<JWS>"}`; anything longer than ``AppleNotification/longestBody`` is refused.
    ///   - arrived: When it arrived; nil for now.
    /// - Returns: The outcome. Only a stored or known notification may be answered with 200.
    /// - Throws: ``PostgresError`` if it could not be stored: answer 503. `CancellationError`.
    package func take(_ body: [UInt8], arrived: Date? = nil) async throws -> Receipt {
        let receipt: Receipt
        switch try await apple.verify(notification: body, arrived: arrived) {
        case .failure(let problem) where problem.mayPass: receipt = .notNow(problem)
        case .failure(let problem): receipt = .refused(problem)
        case .success(let notification): receipt = try await store(notification)
        }
        count(receipt, by: 1)
        logger.debug("apple notification", metadata: ["outcome": "\(receipt.name)"])
        // Our client secrets tolerate minutes of clock skew, so only this reveals a slow clock.
        if receipt == .notNow(.notYetIssued) {
            logger.warning("a notification signed by Apple is dated in the future: this machine's clock is slow")
        }
        return receipt
    }

    private func count(_ receipt: Receipt, by number: Int) {
        Counter(label: "apple_notifications_total", dimensions: [("outcome", receipt.name)], factory: factory)
            .increment(by: number)
    }

    private func store(_ notification: AppleNotification) async throws -> Receipt {
        let isNew = try await pool.withTransaction { connection in
            var isNew = false
            for (index, event) in notification.events.enumerated()
            where try Self.store(event, at: index, of: notification, on: connection) {
                isNew = true
            }
            return isNew
        }
        return isNew ? .stored(events: notification.events.count) : .duplicate
    }

    private static func store(
        _ event: AppleNotification.Event,
        at index: Int,
        of notification: AppleNotification,
        on connection: isolated Connection
    ) throws -> Bool {
        let kind = CredentialEvent.Kind(event.type)
        // Issuer, audience and id identify a delivery; the issuer is always the same.
        let place = index == 0 ? "" : "#\(index)"
        let notificationID = "\(notification.audience)/\(notification.id)\(place)"
        let found = try event.sub.flatMap { try EventOwner.find($0, on: connection) }
        // The rows of an account that is being deleted are locked, perhaps for long: a reference to one would make
        // Apple, and the events of others, wait.
        let owner = found.flatMap { $0.isBeingErased ? nil : $0 }
        let stored = try connection.first(
            """
            insert into accountctl.credential_events
                (source, kind, client_id, user_id, identity_id, notification_id, happened_at)
            values (
                'apple', \(kind.text), \(notification.audience), \(owner?.user), \(owner?.identity), \(notificationID),
                \(event.occurredAt)
            )
            on conflict (notification_id) where notification_id is not null do nothing
            returning id
            """,
            as: Int64.self
        )
        guard let id = stored else { return false }
        guard let user = owner?.user else {
            let outcome: CredentialRules.Outcome =
                found != nil ? .echo : event.sub == nil ? .unknownType : .unknownAccount
            try CredentialEventRows.settle(id, outcome, on: connection)
            return true
        }
        if kind == .emailEnabled || kind == .emailDisabled {
            // The address is stored only in the row of the relay address itself, so it is used here or not at all.
            let outcome = try switchForwarding(event, kind, user, on: connection)
            try CredentialEventRows.settle(id, outcome, on: connection)
            return true
        }
        // An event about a locked-out account waits until its deletion is cancelled or becomes final.
        if owner?.isLockedOut != true { try CredentialJobs.enqueueHandling(of: id, on: connection) }
        return true
    }

    private static func switchForwarding(
        _ event: AppleNotification.Event,
        _ kind: CredentialEvent.Kind,
        _ user: UUID,
        on connection: isolated Connection
    ) throws -> CredentialRules.Outcome {
        guard let address = event.email else { return .notTracked }
        let isSwitched = try RelayDirectory.note(
            userID: user,
            address: address,
            forwards: kind == .emailEnabled,
            happenedAt: event.occurredAt,
            // Apple sends such events for relay addresses only.
            appleClaim: true,
            on: connection
        )
        return isSwitched ? .forwarding : .stale
    }
}

extension NotificationIntake.Receipt {
    fileprivate var name: String {
        switch self {
        case .stored: "stored"
        case .duplicate: "duplicate"
        case .refused(let problem): "refused_\(problem.rawValue)"
        case .notNow: "not_now"
        }
    }
}
