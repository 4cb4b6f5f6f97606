import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Handles the events in `credential_events`.
struct CredentialEvents: Sendable {
    /// The result of handling an event.
    enum Handling: Sendable, Hashable {
        /// Handled, now or before.
        case settled
        /// The account is locked out, and its deletion may still be cancelled: the event waits for
        /// ``handleWaiting(for:)``.
        case waiting
        /// Apple gave no answer: retry.
        case again(after: Duration?)
    }

    private let services: CredentialServices

    /// Makes a handler of events.
    init(_ services: CredentialServices) {
        self.services = services
    }

    /// Handles one event exactly once, however often and by however many workers this is called.
    func handle(_ id: Int64) async throws -> Handling {
        var confirmation: CredentialConfirmation?
        // Apple is asked outside any transaction, at most once: the second round decides with the answer.
        for _ in 0..<2 {
            let known = confirmation
            let services = services
            let step = try await services.pool.withTransaction { connection in
                try Self.step(id, confirmation: known, services, on: connection)
            }
            switch step {
            case .settled: return .settled
            case .waiting: return .waiting
            case .confirm(let user, let event):
                let found = try await CredentialChecks(services).confirm(
                    user: user,
                    clientID: event.clientID,
                    happenedAt: event.happenedAt
                )
                if case .unavailable(let pause) = found.finding {
                    return try await putOff(id) ? .again(after: pause) : .settled
                }
                confirmation = found
            }
        }
        return .again(after: nil)
    }

    /// Handles what devices reported, and other unhandled events, until nothing is due or the time is over.
    ///
    /// - Parameter time: The time after which the rest is left to the next call.
    /// - Returns: How many were handled.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func handleWaiting(for time: Duration = .seconds(300)) async throws -> Int {
        let end = ContinuousClock.now + time
        var handled = 0
        while true {
            let ids = try await services.pool.withConnection { try CredentialEventRows.due(on: $0) }
            if ids.isEmpty { return handled }
            for id in ids {
                try Task.checkCancellation()
                if try await handleOne(id) { handled += 1 }
                if ContinuousClock.now >= end { return handled }
            }
        }
    }

    /// Handles one waiting event; an error of the database about this event does not keep the others from being
    /// handled.
    ///
    /// - Returns: Whether it is settled.
    private func handleOne(_ id: Int64) async throws -> Bool {
        do {
            return try await handle(id) == .settled
        } catch let error as PostgresError where error.isRefusal {
            services.logger.error(
                "a credential event could not be handled; it will be tried again",
                metadata: ["event": "\(id)", "error": "\(error)"]
            )
            try await services.pool.withTransaction { _ = try CredentialEventRows.stepBack(id, on: $0) }
            return false
        }
    }

    /// Postpones an event about which Apple gave no answer; after a day it is left to the daily check.
    ///
    /// - Returns: Whether the event still waits.
    private func putOff(_ id: Int64) async throws -> Bool {
        try await services.pool.withTransaction { connection in
            let isOld = try CredentialEventRows.stepBack(id, on: connection)
            guard isOld == true else { return isOld != nil }
            try CredentialEventRows.settle(id, .notConfirmable, on: connection)
            return false
        }
    }

    private enum Step: Sendable {
        case settled
        case waiting
        case confirm(user: UUID, CredentialEvent)
    }

    private static func step(
        _ id: Int64,
        confirmation: CredentialConfirmation?,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws -> Step {
        // The account's row is locked first, in the common lock order: a deletion and a lock-out start there too.
        try connection.execute(
            """
            select
            from auth.users
            where id = (select user_id from accountctl.credential_events where id = \(id))
            for no key update
            """
        )
        // The row lock makes a second worker wait, and then find the event handled.
        guard let (event, subject) = try CredentialEventRows.read(id, on: connection) else { return .settled }
        guard let user = event.user else {
            try CredentialEventRows.settle(id, .unknownAccount, on: connection)
            return .settled
        }
        let facts = try facts(of: user, subject: subject, event: event, apple: services.apple, on: connection)
        if subject != .any, CredentialRules.endsForwarding(event, facts) {
            try CredentialReactions(on: user, to: event).endForwarding(to: subject, on: connection)
        }
        switch CredentialRules.decide(event, facts, policy: services.policy) {
        case .nothing(let outcome):
            try CredentialEventRows.settle(id, outcome, on: connection)
        case .wait:
            _ = try CredentialEventRows.stepBack(id, on: connection)
            return .waiting
        case .noteTransfer:
            try CredentialReactions(on: user, to: event)
                .noteTransfer(of: subject, signedInAt: facts.newestSignIn, on: connection)
            try CredentialEventRows.settle(id, .noted, on: connection)
        case .react(let reactions, let mark, let outcome):
            if outcome == .otherSignIn { tell(id, services) }
            let dead = CredentialReactions.Dead(clientIDs: Set([event.clientID].compactMap { $0 }), subject: subject)
            try CredentialReactions(on: user, to: event).carryOut(
                reactions,
                mark: mark,
                signedInAt: facts.newestSignIn,
                dead: dead,
                on: connection
            )
            try CredentialEventRows.settle(id, outcome, on: connection)
        case .confirm:
            return try heed(confirmation, of: id, event, user, facts, services, on: connection)
        }
        return .settled
    }

    /// Applies Apple's answer about the credentials of an event; without one, Apple has to be asked.
    private static func heed(
        _ confirmation: CredentialConfirmation?,
        of id: Int64,
        _ event: CredentialEvent,
        _ user: UUID,
        _ facts: CredentialRules.Facts,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws -> Step {
        switch confirmation?.finding {
        case nil, .unavailable?: return .confirm(user: user, event)
        case .gone?:
            let gone = confirmation?.gone ?? []
            var facts = facts
            facts.isOfFormerTeam = try areOfFormerTeam(gone, of: user, apple: services.apple, on: connection)
            let due = CredentialRules.reactionsToGrantGone(facts, services.policy)
            let (reactions, outcome) = CredentialRules.permitted(due, facts)
            if outcome == .otherSignIn { tell(id, services) }
            // Apple refused these tokens themselves, whatever their sub.
            let dead = CredentialReactions.Dead(clientIDs: gone, subject: .any)
            try noteReport(on: user, about: dead.clientIDs, on: connection)
            try CredentialReactions(on: user, to: event).carryOut(
                reactions,
                mark: .consentRevoked,
                signedInAt: facts.newestSignIn,
                dead: dead,
                on: connection
            )
            try CredentialEventRows.settle(id, outcome, on: connection)
        case .lives?: try CredentialEventRows.settle(id, .notConfirmed, on: connection)
        case .inconclusive?, .askedBefore?: try CredentialEventRows.settle(id, .notConfirmable, on: connection)
        case .nothingHeld?: try CredentialEventRows.settle(id, .nothingHeld, on: connection)
        }
        return .settled
    }

    /// Records that Apple refused credentials for a device's report; a replacement stored since was not asked about.
    private static func noteReport(
        on user: UUID,
        about clientIDs: Set<String>,
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            update accountctl.apple_credentials
            set report_answered_at = clock_timestamp()
            where user_id = \(user)
              and client_id = any(\(clientIDs.sorted()))
              and checked_at is not null
            """
        )
    }

    /// Logs that no deletion was requested for an account, so that somebody can look.
    private static func tell(_ id: Int64, _ services: CredentialServices) {
        services.logger.notice(
            """
            no deletion was requested for an account with another way to sign in than Apple: \
            accountctl apple events list shows the event
            """,
            metadata: ["event": "\(id)", "outcome": "\(CredentialRules.Outcome.otherSignIn.rawValue)"]
        )
    }
}
