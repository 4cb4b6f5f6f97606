import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Gives an account's Apple identity the sub and address that it has in the new team.
struct IdentityMove: Sendable {
    let user: UUID
    let oldSub: String
    /// In lower case; nil if the old identity has none.
    let oldEmail: String?
    let sub: String
    /// The address that Apple gave the new team; nil if it gave none, and the old one stays.
    let email: String?
    let isPrivate: Bool?

    /// Replaces the old identity by the new one everywhere.
    func carryOut(on connection: isolated Connection) throws {
        try moveIdentity(on: connection)
        try moveCredentials(on: connection)
        try moveCopy(on: connection)
        guard let email else { return }
        try moveAddress(to: email, on: connection)
        try moveRelayAddress(to: email, on: connection)
    }

    /// Gives the identity its new sub, or deletes it if GoTrue has already linked the new one to the account.
    ///
    /// The latter happens when the person signed in to the new team with the same address; Apple no longer issues the
    /// old sub to anyone. `updated_at` stays, since it says when the person last signed in.
    private func moveIdentity(on connection: isolated Connection) throws {
        let isLinked = try connection.one(
            """
            select exists (
                select
                from auth.identities
                where user_id = \(user) and provider = 'apple' and provider_id = \(sub)
            )
            """,
            as: Bool.self
        )
        if isLinked {
            try connection.execute(
                """
                delete from auth.identities
                where user_id = \(user)
                  and provider = 'apple'
                  and provider_id = \(oldSub)
                """
            )
            return
        }
        try connection.execute(
            """
            update auth.identities
            set provider_id = \(sub),
                identity_data = identity_data
                    || jsonb_build_object('sub', \(sub)::text)
                    || case
                        when identity_data ? 'provider_id' then jsonb_build_object('provider_id', \(sub)::text)
                        else '{}'
                    end
                    || case
                        when \(email)::text is null then '{}'
                        else jsonb_build_object('email', \(email)::text)
                    end
            where user_id = \(user)
              and provider = 'apple'
              and provider_id = \(oldSub)
            """
        )
    }

    /// Moves the credentials to the new sub, and deletes the mark of the transfer.
    private func moveCredentials(on connection: isolated Connection) throws {
        try connection.execute(
            "update accountctl.apple_credentials set apple_sub = \(sub) where user_id = \(user) and apple_sub = \(oldSub)"
        )
        try connection.execute(
            "delete from accountctl.apple_identity_marks where user_id = \(user) and state = 'transferred'"
        )
    }

    /// Replaces sub and address in the account's own copy of the identity's data, where apps read them.
    ///
    /// GoTrue writes the copy at each sign-in, of whichever provider, and people stay signed in for months.
    private func moveCopy(on connection: isolated Connection) throws {
        try connection.execute(
            """
            update auth.users
            set raw_user_meta_data = raw_user_meta_data
                    || jsonb_build_object('sub', \(sub)::text)
                    || case
                        when raw_user_meta_data ->> 'provider_id' = \(oldSub)
                            then jsonb_build_object('provider_id', \(sub)::text)
                        else '{}'
                    end
                    || case
                        when pg_catalog.lower(raw_user_meta_data ->> 'email') = \(oldEmail) and \(email)::text is not null
                            then jsonb_build_object('email', \(email)::text)
                        else '{}'
                    end,
                updated_at = now()
            where id = \(user)
              and raw_user_meta_data ->> 'sub' = \(oldSub)
            """
        )
    }

    /// Replaces the account's address by the new one, if it is the relay address that stops working.
    private func moveAddress(to email: String, on connection: isolated Connection) throws {
        guard let oldEmail else { return }
        try connection.execute(
            """
            update auth.users
            set email = \(email),
                updated_at = now()
            where id = \(user)
              -- Qualified, since `public.lower(varchar)` would fit better than the server's own function.
              and pg_catalog.lower(email) = \(oldEmail)
            """
        )
    }

    /// Replaces a relay address known from an event, which stops working with the old team.
    ///
    /// Forwarding of the new address is unknown, unless an event has already reported on it.
    private func moveRelayAddress(to email: String, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.relay_addresses
            set address = lower(\(email)),
                apple_claim = \(isPrivate),
                forwarding = 'unknown',
                forwarding_changed_at = null
            where user_id = \(user)
              and address = coalesce(\(oldEmail), address)
              and address <> lower(\(email))
            """
        )
    }
}
