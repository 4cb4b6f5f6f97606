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
        var confirmation: CredentialChecks.Finding?
        // Asked of Apple outside any transaction, at most once: the second round decides with the answer.
        for _ in 0..<2 {
            let known = confirmation
            let services = services
            let step = try await services.pool.withTransaction { connection in
                try Self.step(id, confirmation: known, services, on: connection)
            }
            switch step {
            case .settled: return .settled
            case .confirm(let user, let clientID):
                confirmation = try await CredentialChecks(services).confirm(user: user, clientID: clientID)
                if case .unavailable(let pause)? = confirmation { return .again(after: pause) }
            }
        }
        return .again(after: nil)
    }

    /// Handles what devices reported, and whatever else was left.
    ///
    /// - Returns: How many were handled.
    func handleWaiting() async throws -> Int {
        let ids = try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id
                from accountctl.credential_events
                where handled_at is null
                order by received_at, id
                limit 500
                """,
                as: Int64.self
            )
        }
        var handled = 0
        for id in ids {
            try Task.checkCancellation()
            if try await handle(id) == .settled { handled += 1 }
        }
        return handled
    }

    private enum Step: Sendable {
        case settled
        case confirm(user: UUID, clientID: String?)
    }

    private static func step(
        _ id: Int64,
        confirmation: CredentialChecks.Finding?,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws -> Step {
        // The row's lock makes a second worker wait and then find the event handled.
        guard let event = try read(id, on: connection) else { return .settled }
        guard let user = event.user else {
            try settle(id, .unknownAccount, on: connection)
            return .settled
        }
        let facts = try facts(of: user, on: connection)
        switch CredentialRules.decide(event, facts, policy: services.policy) {
        case .nothing(let outcome):
            try settle(id, outcome, on: connection)
        case .noteTransfer:
            try mark(user, .transferred, at: event.happenedAt, on: connection)
            try settle(id, .noted, on: connection)
        case .react(let reactions, let mark):
            try carryOut(reactions, mark: mark, user: user, event: event, services, on: connection)
            try settle(id, .done, on: connection)
        case .confirm:
            switch confirmation {
            case nil, .unavailable?: return .confirm(user: user, clientID: event.clientID)
            case .gone?:
                let reactions = services.policy.grantGone
                try carryOut(reactions, mark: .consentRevoked, user: user, event: event, services, on: connection)
                try settle(id, reactions.isEmpty ? .noReaction : .done, on: connection)
            case .lives?, .inconclusive?: try settle(id, .notConfirmed, on: connection)
            case .nothingHeld?: try settle(id, .nothingHeld, on: connection)
            }
        }
        return .settled
    }

    private static func read(_ id: Int64, on connection: isolated Connection) throws -> CredentialEvent? {
        try connection.first(
            """
            select source, kind, client_id, user_id, happened_at
            from accountctl.credential_events
            where id = \(id)
              and handled_at is null
            for update
            """,
            as: (String, String, String?, UUID?, Date).self
        ).map { source, kind, clientID, user, happenedAt in
            CredentialEvent(
                id: id,
                source: CredentialEvent.Source(rawValue: source) ?? .device,
                kind: CredentialEvent.Kind(stored: kind),
                clientID: clientID,
                user: user,
                happenedAt: happenedAt
            )
        }
    }

    static func facts(of user: UUID, on connection: isolated Connection) throws -> CredentialRules.Facts {
        let (signIn, credential, proof, isBeingErased) = try connection.one(
            """
            select
                (
                    select max(last_sign_in_at)
                    from auth.identities
                    where user_id = \(user) and provider = 'apple'
                ),
                (select max(obtained_at) from accountctl.apple_credentials where user_id = \(user)),
                (
                    select max(greatest(obtained_at, last_live_at))
                    from accountctl.apple_credentials
                    where user_id = \(user)
                ),
                exists (
                    select
                    from accountctl.deletion_requests
                    where user_id = \(user) and finished_at is null and locked_out_at is not null
                )
            """,
            as: (Date?, Date?, Date?, Bool).self
        )
        return CredentialRules.Facts(
            newestSignIn: signIn,
            newestCredential: credential,
            newestProofOfLife: proof,
            isBeingErased: isBeingErased
        )
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

    private static func carryOut(
        _ reactions: Set<CredentialReaction>,
        mark: CredentialRules.Mark,
        user: UUID,
        event: CredentialEvent,
        _ services: CredentialServices,
        on connection: isolated Connection
    ) throws {
        if reactions.contains(.forgetCredential) {
            // Revoking ends the whole app group, and a sub is one for the team: every client id of the account is concerned.
            // Not one obtained since: the facts were read under another snapshot.
            try connection.execute(
                """
                delete from accountctl.apple_credentials
                where user_id = \(user)
                  and obtained_at < \(event.happenedAt)
                """
            )
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
