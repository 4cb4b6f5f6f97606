import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Collects by what an account can be recognised, while it is still there.
///
/// Nothing that people may say of themselves unchecked: an address or number that waits to be confirmed, or stands in
/// the meta data of the user, may be anybody's, and every row with it would be taken for the account's. The auth server
/// copies these meta data into `identity_data` of whoever signs up by address or number; a provider says of an address
/// whether it has checked it.
///
/// What we hold ourselves of Apple is an account's own while no other has that identity.
enum IdentifierCollection {
    /// Whether some are lost of a request whose identifiers are stored: of an account that was soft-deleted before any
    /// were, the auth server keeps hashes in place of what it was recognised by.
    private static let areLost: Statement = """
        exists (
            select
            from auth.users as u
            where u.id = user_id
              and u.deleted_at is not null
              -- The auth server has a clock of its own.
              and (sealed_identifiers is null or u.deleted_at <= requested_at)
        )
        """

    /// Stores sealed identifiers with their request, unless it has ended; more conditions may follow.
    ///
    /// Those that were given up with their key stay given up: what the account shows by now need not be all that it was
    /// recognised by, and the receipt says so. A later look opens what this one stored, and does not see what it is in
    /// place of.
    static func storing(_ sealed: SealedText, with request: UUID) -> Statement {
        """
        update accountctl.deletion_requests
        set sealed_identifiers = \(sealed.text),
            sealing_key_id = \(sealed.keyID.text),
            without_identifiers = without_identifiers or \(areLost)
        where id = \(request) and finished_at is null
        """
    }

    /// Every identifier of an account; nil when there is no such account.
    static func read(of user: UUID, on connection: isolated Connection) throws -> [Identifier]? {
        try read(of: [user], on: connection)[user]
    }

    /// Whether what an identity `i` says comes from a provider: that of who signs up by address or number may say what
    /// the person likes.
    static let isOfProvider: Statement = "i.provider not in ('email', 'phone')"

    /// Identities of old do not say whether their address was checked.
    private static let isAddressChecked: Statement =
        "\(isOfProvider) and coalesce(i.identity_data ->> 'email_verified', 'true') = 'true'"

    private static let isNumberChecked: Statement =
        "\(isOfProvider) and i.identity_data ->> 'phone_verified' = 'true'"

    /// Every identifier of each of the accounts that there are.
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
            -- Auth servers of old know no factors with numbers.
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

    /// What a value of a kind recognises an account by; nil for nothing more than its own id.
    private static func identifier(kind: String, _ value: String, of user: UUID) -> Identifier? {
        switch kind {
        case "email": Identifier(email: value)
        case "phone": Identifier(phone: value)
        // The provider `email` has the user id here; some providers have the address.
        case "provider_id":
            value.lowercased() == Identifier(userID: user).value
                ? nil : Identifier(email: value) ?? Identifier(providerID: value)
        default: nil
        }
    }
}
