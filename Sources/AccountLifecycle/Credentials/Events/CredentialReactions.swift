import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Carries out on an account what was decided about an event.
struct CredentialReactions {
    private let user: UUID
    private let event: CredentialEvent

    init(on user: UUID, to event: CredentialEvent) {
        self.user = user
        self.event = event
    }

    /// Which credentials of an account are no longer valid.
    struct Dead {
        let clientIDs: Set<String>
        /// Whose they are, since several Apple Accounts may be linked to one account.
        let subject: EventSubject
    }

    /// Carries out reactions.
    ///
    /// The other arguments are the mark to record, when the person last signed in with the identity, and which
    /// credentials are to be deleted.
    func carryOut(
        _ reactions: Set<CredentialReaction>,
        mark state: CredentialRules.Mark,
        signedInAt: Date?,
        dead: Dead,
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
            try connection.execute("select request_id from accountctl.open_deletion_request(\(user), 'apple')")
        }
    }

    /// Deletes the credentials of the event's client ids, and makes the check of the account's others due now.
    ///
    /// Consent is given to an app group, and only Apple's portal shows which apps are grouped. A token deleted while
    /// its grant is valid can never be revoked, so the other tokens are kept until Apple refuses them too.
    private func forget(_ dead: Dead, on connection: isolated Connection) throws {
        let clientIDs = Array(dead.clientIDs)
        // Not a credential obtained since: the facts were read under another snapshot.
        try connection.execute(
            """
            delete from accountctl.apple_credentials
            where user_id = \(user)
              and client_id = any (\(clientIDs))
              and \(dead.subject.isMeant(by: "apple_sub"))
              and obtained_at < \(event.happenedAt)
            """
        )
        // Apple's times are in milliseconds, so an answer within the same one may be older than the event.
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

    /// Records on the account what Apple said about its identity, unless a later event did.
    ///
    /// A deleted Apple Account stays recorded as such until the person signs in with Apple again: Apple will refuse the
    /// credentials still held, which would otherwise be recorded in its place.
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

    /// Marks the relay address of a deleted Apple Account as not forwarded, for which Apple sends no event of its own.
    func endForwarding(to subject: EventSubject, on connection: isolated Connection) throws {
        try connection.execute(
            """
            select accountctl.note_relay_address(r.user_id, r.address, false, \(event.happenedAt))
            from accountctl.relay_accounts as r
            where r.user_id = \(user)
              -- Unless it belongs, or may belong, to another Apple Account.
              and not exists (
                  select
                  from auth.identities as i
                  where i.user_id = r.user_id
                    and i.provider = 'apple'
                    and not \(subject.isMeant(by: "i.provider_id"))
                    and pg_catalog.lower(coalesce(nullif(i.identity_data ->> 'email', ''), r.address)) = r.address
              )
            """
        )
    }

    /// Records on the account that its identity moves to another team, as reported by a device.
    ///
    /// Anyone who is signed in can have a device report that, so it does not replace what Apple itself said, unless the
    /// person has signed in since. A device goes on reporting it after the move was applied: that is not recorded.
    func noteTransfer(of subject: EventSubject, signedInAt: Date?, on connection: isolated Connection) throws {
        // A device that names no client id may mean any.
        let clientID: Statement = "coalesce(\(event.clientID), t.client_id)"
        try connection.execute(
            """
            insert into accountctl.apple_identity_marks as m (user_id, state, since)
            select \(user), \(CredentialRules.Mark.transferred.rawValue), \(event.happenedAt)
            where (
                select t.state
                from accountctl.apple_transfers as t
                where t.user_id = \(user)
                  and \(TransferBooks.concerns(clientID: clientID, sub: "\(subject.knownSub)::text"))
                order by t.id desc
                limit 1
            ) is distinct from \(TransferState.applied.rawValue)
            on conflict (user_id) do update
            set state = excluded.state,
                since = excluded.since
            where m.since <= excluded.since
              and (m.state = excluded.state or m.since < \(signedInAt))
            """
        )
    }
}
