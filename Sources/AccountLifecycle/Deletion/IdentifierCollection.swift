import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Collects by what an account can be recognised, while it is still there.
enum IdentifierCollection {
    /// Every identifier of an account; nil when there is no such account.
    static func read(of user: UUID, on connection: isolated Connection) throws -> [Identifier]? {
        let rows = try connection.query(
            """
            select v.kind, v.value
            from auth.users as u
            cross join lateral (values
                ('user_id', u.id::text),
                ('email', u.email::text),
                ('email', u.email_change::text),
                ('email', u.raw_user_meta_data ->> 'email'),
                ('phone', u.phone),
                ('phone', u.phone_change)
            ) as v (kind, value)
            where u.id = \(user)
            union
            select v.kind, v.value
            from auth.identities as i
            cross join lateral (values
                ('provider_id', i.provider_id),
                ('email', i.email),
                ('email', i.identity_data ->> 'email'),
                ('provider_id', i.identity_data ->> 'sub'),
                ('phone', i.identity_data ->> 'phone')
            ) as v (kind, value)
            where i.user_id = \(user)
            """,
            as: (String, String?).self
        )
        guard rows.contains(where: { $0.0 == "user_id" }) else { return nil }
        let own = Identifier(userID: user)
        var identifiers: Set<Identifier> = []
        for (kind, value) in rows {
            guard let value else { continue }
            let identifier: Identifier? =
                switch kind {
                case "email": Identifier(email: value)
                case "phone": Identifier(phone: value)
                // The provider `email` has the user id here; some providers have the address.
                case "provider_id":
                    value.lowercased() == own.value ? nil : Identifier(email: value) ?? Identifier(providerID: value)
                default: nil
                }
            if let identifier { identifiers.insert(identifier) }
        }
        return identifiers.sorted { ($0.kind, $0.value) < ($1.kind, $1.value) }
    }
}
