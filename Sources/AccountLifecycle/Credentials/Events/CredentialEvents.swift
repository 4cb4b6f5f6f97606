import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rows of `credential_events`, and what is done about them.
package struct CredentialEvents: Sendable {
    /// What became of handling an event now.
    enum Handling: Sendable, Hashable {
        /// Handled, now or before.
        case settled
        /// Apple gave no answer; try again.
        case again(after: Duration?)
    }

    private let services: CredentialServices

    /// Makes a handler of events.
    package init(_ services: CredentialServices) {
        self.services = services
    }

    /// Handles one event; once, however often and by however many workers it is called.
    func handle(_ id: Int64) async throws -> Handling {
        var confirmation: CredentialConfirmation?
        // Asked of Apple outside any transaction, at most once: the second round decides with the answer.
        for _ in 0..<2 {
            let known = confirmation
            let services = services
            let step = try await services.pool.withTransaction { connection in
                try Self.step(id, confirmation: known, services, on: connection)
            }
            switch step {
            case .settled: return .settled
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

    /// Handles what devices reported, and whatever else was left, until nothing is due or the time is over.
    ///
    /// - Parameter time: After so long the rest is left to the next call.
    /// - Returns: How many were handled.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func handleWaiting(for time: Duration = .seconds(300)) async throws -> Int {
        let end = ContinuousClock.now + time
        var handled = 0
        while true {
            let ids = try await due()
            if ids.isEmpty { return handled }
            for id in ids {
                try Task.checkCancellation()
                if try await handleOne(id) { handled += 1 }
                if ContinuousClock.now >= end { return handled }
            }
        }
    }

    /// Some of those whose time has come; each is settled or steps back before it is asked for again.
    private func due() async throws -> [Int64] {
        try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id
                from accountctl.credential_events
                where handled_at is null
                  and next_try_at <= statement_timestamp()
                order by next_try_at, id
                limit 500
                """,
                as: Int64.self
            )
        }
    }

    /// Handles one that waits; what the database refuses of one is no reason to leave the others.
    ///
    /// - Returns: Whether it is settled.
    private func handleOne(_ id: Int64) async throws -> Bool {
        do {
            return try await handle(id) == .settled
        } catch let error as PostgresError where error.isRefusal {
            services.logger.error(
                "a credential event could not be handled; it is tried again",
                metadata: ["event": "\(id)", "error": "\(error)"]
            )
            try await services.pool.withTransaction { _ = try Self.stepBack(id, on: $0) }
            return false
        }
    }

    /// Has an event that Apple gave no answer about step back; after a day the daily check has to find out.
    ///
    /// - Returns: Whether it waits on.
    private func putOff(_ id: Int64) async throws -> Bool {
        try await services.pool.withTransaction { connection in
            let isOld = try Self.stepBack(id, on: connection)
            guard isOld == true else { return isOld != nil }
            try Self.settle(id, .notConfirmable, on: connection)
            return false
        }
    }

    /// Has an event step back, so that it stands in nobody's way: a minute, then twice as long each time, up to an
    /// hour.
    ///
    /// - Returns: Whether it has waited for a day; nil when it is handled.
    private static func stepBack(_ id: Int64, on connection: isolated Connection) throws -> Bool? {
        try connection.first(
            """
            update accountctl.credential_events
            set tries = least(tries + 1, 1000),
                next_try_at = clock_timestamp() + least(60, 2 ^ least(tries, 6)) * interval '1 minute'
            where id = \(id)
              and handled_at is null
            returning received_at < clock_timestamp() - interval '1 day'
            """,
            as: Bool.self
        )
    }

    private enum Step: Sendable {
        case settled
        case confirm(user: UUID, CredentialEvent)
    }

    private static func step(
        _ id: Int64,
        confirmation: CredentialConfirmation?,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws -> Step {
        // The account's row first, as everybody takes it: whoever deletes or locks out the account comes to the rest
        // from there.
        try connection.execute(
            """
            select
            from auth.users
            where id = (select user_id from accountctl.credential_events where id = \(id))
            for no key update
            """
        )
        // The row's lock makes a second worker wait and then find the event handled.
        guard let (event, subject) = try read(id, on: connection) else { return .settled }
        guard let user = event.user else {
            try settle(id, .unknownAccount, on: connection)
            return .settled
        }
        let facts = try facts(of: user, subject: subject, on: connection)
        switch CredentialRules.decide(event, facts, policy: services.policy) {
        case .nothing(let outcome):
            try settle(id, outcome, on: connection)
        case .noteTransfer:
            try mark(user, .transferred, at: event.happenedAt, on: connection)
            try settle(id, .noted, on: connection)
        case .react(let reactions, let mark, let outcome):
            if outcome == .otherSignIn { tell(id, services) }
            let dead = Dead(clientIDs: Set([event.clientID].compactMap { $0 }), subject: subject)
            try carryOut(reactions, mark: mark, user: user, event: event, dead: dead, services, on: connection)
            try settle(id, outcome, on: connection)
        case .confirm:
            switch confirmation?.finding {
            case nil, .unavailable?: return .confirm(user: user, event)
            case .gone?:
                let (reactions, outcome) = CredentialRules.permitted(services.policy.grantGone, facts)
                if outcome == .otherSignIn { tell(id, services) }
                // Apple refused these themselves, whomever they speak for.
                let dead = Dead(clientIDs: confirmation?.gone ?? [], subject: nil)
                try carryOut(
                    reactions,
                    mark: .consentRevoked,
                    user: user,
                    event: event,
                    dead: dead,
                    services,
                    on: connection
                )
                try settle(id, outcome, on: connection)
            case .lives?, .inconclusive?: try settle(id, .notConfirmed, on: connection)
            case .nothingHeld?: try settle(id, .nothingHeld, on: connection)
            }
        }
        return .settled
    }

    /// Tells that an account was not asked to be deleted, so that somebody can look.
    private static func tell(_ id: Int64, _ services: CredentialServices) {
        services.logger.notice(
            "no deletion of an account that has another way to sign in than Apple: accountctl apple events list shows the event",
            metadata: ["event": "\(id)", "outcome": "\(CredentialRules.Outcome.otherSignIn.rawValue)"]
        )
    }

    /// Reads an event that waits, and whom of the account's Apple identities it is about, where that can be told.
    private static func read(
        _ id: Int64,
        on connection: isolated Connection
    ) throws -> (event: CredentialEvent, subject: String?)? {
        try connection.first(
            """
            select
                e.source, e.kind, e.client_id, e.user_id, e.happened_at,
                coalesce(
                    (
                        select i.provider_id
                        from auth.identities as i
                        where i.id = e.identity_id and i.user_id = e.user_id
                    ),
                    (
                        select c.apple_sub
                        from accountctl.apple_credentials as c
                        where c.user_id = e.user_id and c.client_id = e.client_id
                    )
                )
            from accountctl.credential_events as e
            where e.id = \(id)
              and e.handled_at is null
            for update of e
            """,
            as: (CredentialEvent.Source, String, String?, UUID?, Date, String?).self
        ).map { source, kind, clientID, user, happenedAt, subject in
            let event = CredentialEvent(
                id: id,
                source: source,
                kind: CredentialEvent.Kind(stored: kind),
                clientID: clientID,
                user: user,
                happenedAt: happenedAt
            )
            return (event, subject)
        }
    }

    static func settle(_ id: Int64, _ outcome: CredentialRules.Outcome, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.credential_events
            set handled_at = clock_timestamp(),
                outcome = \(outcome.rawValue)
            where id = \(id)
              and handled_at is null
            """
        )
    }

    /// Which credentials of an account are gone.
    private struct Dead {
        let clientIDs: Set<String>
        /// Whom they speak for: several Apple Accounts may be linked to one account; nil where that does not matter.
        let subject: String?
    }

    private static func carryOut(
        _ reactions: Set<CredentialReaction>,
        mark: CredentialRules.Mark,
        user: UUID,
        event: CredentialEvent,
        dead: Dead,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws {
        if reactions.contains(.forgetCredential) {
            try forget(dead, of: user, event: event, on: connection)
        }
        if reactions.contains(.signOut) {
            try AccountSessions.end(of: user, on: connection)
        }
        if reactions.contains(.markIdentity) {
            try Self.mark(user, mark, at: event.happenedAt, on: connection)
        }
        if reactions.contains(.requestDeletion) {
            let grace = services.policy.deletionGrace.map { $0.components.seconds }
            try connection.execute(
                """
                select request_id
                from accountctl.open_deletion_request(\(user), 'apple', null, \(grace) * interval '1 second')
                """
            )
        }
    }

    /// Forgets the credentials of the client ids that the event is about, and has Apple asked about the others at once.
    ///
    /// Consent is given to an app group. Which apps are grouped stands in Apple's portal alone, and a token that is
    /// forgotten while its grant lives can never be revoked: so the others' are kept until Apple refuses them too.
    private static func forget(
        _ dead: Dead,
        of user: UUID,
        event: CredentialEvent,
        on connection: isolated Connection
    ) throws {
        let clientIDs = Array(dead.clientIDs)
        // Not one obtained since: the facts were read under another snapshot.
        try connection.execute(
            """
            delete from accountctl.apple_credentials
            where user_id = \(user)
              and client_id = any (\(clientIDs))
              and apple_sub = coalesce(\(dead.subject), apple_sub)
              and obtained_at < \(event.happenedAt)
            """
        )
        // Apple tells milliseconds: an answer within the same one may be of before.
        try connection.execute(
            """
            update accountctl.apple_credentials
            set check_after = now()
            where user_id = \(user)
              and client_id <> all (\(clientIDs))
              and date_trunc('milliseconds', greatest(obtained_at, checked_at)) <= \(event.happenedAt)
            """
        )
    }

    private static func mark(
        _ user: UUID,
        _ mark: CredentialRules.Mark,
        at moment: Date,
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            insert into accountctl.apple_identity_marks as m (user_id, state, since)
            values (\(user), \(mark.rawValue), \(moment))
            on conflict (user_id) do update
            set state = excluded.state,
                since = excluded.since
            where m.since <= excluded.since
            """
        )
    }
}
