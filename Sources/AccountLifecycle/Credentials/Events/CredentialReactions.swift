import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Carries out on an account what is decided about an event.
struct CredentialReactions {
    private let user: UUID
    private let event: CredentialEvent

    init(on user: UUID, to event: CredentialEvent) {
        self.user = user
        self.event = event
    }

    /// Which credentials of an account are gone.
    struct Dead {
        let clientIDs: Set<String>
        /// Whom they speak for: several Apple Accounts may be linked to one account; nil where that does not matter.
        let subject: String?
    }

    /// Carries out reactions, with what is to be noted of the identity, when the person last signed in with it, and
    /// which credentials are to be forgotten.
    func carryOut(
        _ reactions: Set<CredentialReaction>,
        mark state: CredentialRules.Mark,
        signedInAt: Date?,
        dead: Dead,
        _ policy: CredentialPolicy,
        on connection: isolated Connection
    ) throws {
        if reactions.contains(.forgetCredential) {
            try forget(dead, on: connection)
        }
        if reactions.contains(.signOut) {
            try AccountSessions.end(of: user, on: connection)
        }
        if reactions.contains(.markIdentity) {
            try mark(state, signedInAt: signedInAt, on: connection)
        }
        if reactions.contains(.requestDeletion) {
            let grace = policy.deletionGrace.map { $0.components.seconds }
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
    private func forget(_ dead: Dead, on connection: isolated Connection) throws {
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

    /// Notes on the account what Apple says of its identity, unless a later event did.
    ///
    /// That the Apple Account was deleted stands until the person signs in with Apple again: of what is still held
    /// Apple is asked afterwards, and refuses it for that very reason.
    private func mark(
        _ state: CredentialRules.Mark,
        signedInAt: Date?,
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            insert into accountctl.apple_identity_marks as m (user_id, state, since)
            values (\(user), \(state.rawValue), \(event.happenedAt))
            on conflict (user_id) do update
            set state = excluded.state,
                since = excluded.since
            where m.since <= excluded.since
              and (
                  m.state <> \(CredentialRules.Mark.accountDeleted.rawValue)
                  or m.state = excluded.state
                  or m.since < \(signedInAt)
              )
            """
        )
    }

    /// Has the relay address of an Apple Account that was deleted count as one that is not forwarded: Apple tells of that
    /// by no event of its own.
    func endForwarding(to subject: String, on connection: isolated Connection) throws {
        try connection.execute(
            """
            select accountctl.note_relay_address(r.user_id, r.address, false, \(event.happenedAt))
            from accountctl.relay_accounts as r
            where r.user_id = \(user)
              -- Unless it is, or may be, that of another Apple Account.
              and not exists (
                  select
                  from auth.identities as i
                  where i.user_id = r.user_id
                    and i.provider = 'apple'
                    and i.provider_id <> \(subject)
                    and pg_catalog.lower(coalesce(nullif(i.identity_data ->> 'email', ''), r.address)) = r.address
              )
            """
        )
    }

    /// Notes on the account that its identity moves to another team, as a device says.
    ///
    /// Whoever is signed in can have a device say so: what Apple said itself stands, until the person signed in since.
    func noteTransfer(signedInAt: Date?, on connection: isolated Connection) throws {
        try connection.execute(
            """
            insert into accountctl.apple_identity_marks as m (user_id, state, since)
            values (\(user), \(CredentialRules.Mark.transferred.rawValue), \(event.happenedAt))
            on conflict (user_id) do update
            set state = excluded.state,
                since = excluded.since
            where m.since <= excluded.since
              and (m.state = excluded.state or m.since < \(signedInAt))
            """
        )
    }
}
