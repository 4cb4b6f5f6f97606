import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What becomes of an account whose Apple identity gets the name that the new team has for it.
struct IdentityMove: Sendable {
    let user: UUID
    let oldSub: String
    /// In lower case; nil where the old identity has none.
    let oldEmail: String?
    let sub: String
    /// The address that Apple gave the new team; nil where it gave none, and the old one stays.
    let email: String?
    let isPrivate: Bool?

    /// Has everything that knows the old identity know the new one.
    func carryOut(on connection: isolated Connection) throws {
        try moveIdentity(on: connection)
        try moveCredentials(on: connection)
        guard let email else { return }
        try moveAddress(to: email, on: connection)
        try moveRelayAddress(to: email, on: connection)
    }

    /// Makes the identity the new one; where the auth server has linked the new one to the account already, since the
    /// person signed in to the new team with the same address, the old one goes: Apple gives nobody its sub any more.
    ///
    /// `updated_at` stays: it is when the person last signed in.
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

    /// Has what is held and known of the old identity be the new one's.
    private func moveCredentials(on connection: isolated Connection) throws {
        try connection.execute(
            "update accountctl.apple_credentials set apple_sub = \(sub) where user_id = \(user) and apple_sub = \(oldSub)"
        )
        try connection.execute(
            "delete from accountctl.apple_identity_marks where user_id = \(user) and state = 'transferred'"
        )
    }

    /// Puts the new address in the place of the relay address that stops working, where that is the account's.
    private func moveAddress(to email: String, on connection: isolated Connection) throws {
        guard let oldEmail else { return }
        try connection.execute(
            """
            update auth.users
            set email = \(email),
                updated_at = now()
            where id = \(user)
              -- Qualified, since `public.lower(varchar)` would fit better than the server's own.
              and pg_catalog.lower(email) = \(oldEmail)
            """
        )
    }

    /// The relay address that an event told of stops working with the old team; nothing is known of the new one's
    /// forwarding, unless an event told of it already.
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
