import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Collects the identifiers of an account while it still exists.
///
/// Unverified claims are left out: an address or number that waits for confirmation, or that is in the user's metadata,
/// may be anybody's, and every row with it would be taken for the account's. The auth server copies this metadata into
/// `identity_data` of users who sign up by address or number; a provider reports whether it has verified an address.
///
/// What we store ourselves about Apple identifies an account as long as no other account has that Apple identity.
enum IdentifierCollection {
    /// Whether a request whose identifiers are being stored has lost some: if the account was soft-deleted before any
    /// were stored, the auth server keeps hashes in their place.
    private static let areLost: Statement = """
        exists (
            select
            from auth.users as u
            where u.id = user_id
              and u.deleted_at is not null
              -- Not by time alone: the auth server has a clock of its own.
              and (sealed_identifiers is null or u.deleted_at <= requested_at)
        )
        """

    /// Stores sealed identifiers with their request, unless it has ended; more conditions may follow.
    ///
    /// Identifiers that were given up with their key stay given up: those that the account has now need not be all that
    /// it had, and the receipt says so. Later steps open what is stored here, and cannot see what it replaced.
    static func storing(_ sealed: SealedText, with request: UUID) -> Statement {
        """
        update accountctl.deletion_requests
        set sealed_identifiers = \(sealed.text),
            sealing_key_id = \(sealed.keyID.text),
            without_identifiers = without_identifiers or \(areLost)
        where id = \(request) and finished_at is null
        """
    }

    /// Every identifier of an account; nil if there is no such account.
    static func read(of user: UUID, on connection: isolated Connection) throws -> [Identifier]? {
        try read(of: [user], on: connection)[user]
    }

    /// Whether the data of an identity `i` comes from a provider: users who sign up by address or number can write
    /// there what they like.
    static let isOfProvider: Statement = "i.provider not in ('email', 'phone')"

    /// Old identities do not say whether their address was verified.
    private static let isAddressChecked: Statement =
        "\(isOfProvider) and coalesce(i.identity_data ->> 'email_verified', 'true') = 'true'"

    private static let isNumberChecked: Statement =
        "\(isOfProvider) and i.identity_data ->> 'phone_verified' = 'true'"

    /// Every identifier of each of the accounts that exist.
    static func read(of users: [UUID], on connection: isolated Connection) throws -> [UUID: [Identifier]] {
        let rows = try connection.query(
            """
            select u.id, v.kind, v.value
            from auth.users as u
            cross join lateral (values
                ('user_id', u.id::text),
                ('email', u.email::text),
                ('phone', u.phone)
            ) as v (kind, value)
            where u.id = any(\(users))
            union
            select i.user_id, v.kind, v.value
            from auth.identities as i
            cross join lateral (values
                ('provider_id', i.provider_id),
                ('email', case when \(isAddressChecked) then i.identity_data ->> 'email' end),
                ('provider_id', case when \(isOfProvider) then i.identity_data ->> 'sub' end),
                ('phone', case when \(isNumberChecked) then i.identity_data ->> 'phone' end)
            ) as v (kind, value)
            where i.user_id = any(\(users))
            union
            -- Old auth servers have no factors with numbers.
            select f.user_id, 'phone', to_jsonb(f) ->> 'phone'
            from auth.mfa_factors as f
            where f.user_id = any(\(users)) and f.factor_type::text = 'phone' and f.status = 'verified'
            union
            select c.user_id, 'provider_id', c.apple_sub
            from accountctl.apple_credentials as c
            where c.user_id = any(\(users)) and not \(AppleCredential.isAnothers(anyOf: "array[c.apple_sub]", than: "c.user_id"))
            union
            select t.user_id, 'provider_id', v.sub
            from accountctl.apple_transfers as t
            cross join lateral (values (t.old_sub), (t.new_sub)) as v (sub)
            where t.user_id = any(\(users)) and not \(AppleCredential.isAnothers(anyOf: "array[v.sub]", than: "t.user_id"))
            union
            select r.user_id, 'email', r.address
            from accountctl.relay_addresses as r
            where r.user_id = any(\(users))
            """,
            as: (UUID, String, String?).self
        )
        return Dictionary(grouping: rows) { $0.0 }
            .filter { $1.contains { $0.1 == "user_id" } }
            .mapValues { rows in
                Set(rows.compactMap { user, kind, value in value.flatMap { identifier(kind: kind, $0, of: user) } })
                    .sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
            }
    }

    /// The identifier for a value of a kind; nil if it is only the account's own id.
    private static func identifier(kind: String, _ value: String, of user: UUID) -> Identifier? {
        switch kind {
        case "email": Identifier(email: value)
        case "phone": Identifier(phone: value)
        // For the provider `email` this is the user id; for some providers it is the address.
        case "provider_id":
            value.lowercased() == Identifier(userID: user).value
                ? nil : Identifier(email: value) ?? Identifier(providerID: value)
        default: nil
        }
    }
}
