package import Postgres

extension AccountDirectory {
    /// What GoTrue writes for each account; the index on lower-case addresses has this column first.
    private static let instance: Statement = "instance_id = '00000000-0000-0000-0000-000000000000'"

    /// Relay addresses that only an event of Apple named: an identity may have none, or that of the former team.
    private static let relayAddresses: Statement = "select user_id, 'email' from accountctl.relay_addresses where "

    /// A query of the ids that a term may name, each with the kind that matched; nil if the term fits no kind.
    ///
    /// It has one branch for each kind that the term fits; each branch costs one index lookup.
    package func candidates(_ term: LookupTerm, in schema: DirectorySchema) -> Statement? {
        let branches =
            switch term.comparison {
            case .exact: Self.whole(term, in: schema)
            case .prefix: starts(term, in: schema)
            case .contains: parts(term, in: schema)
            }
        guard var all = branches.first else { return nil }
        for branch in branches.dropFirst() { all += " union all " + branch }
        return all
    }

    private static func whole(_ term: LookupTerm, in schema: DirectorySchema) -> [Statement] {
        var branches: [Statement] = []
        if let id = term.userID {
            if term.kind != .request { branches.append("select id, 'id' from auth.users where id = \(id)") }
            if schema.isInstalled, term.kind != .userID {
                branches.append(
                    "select user_id, 'request' from accountctl.deletion_requests where id = \(id) and user_id is not null"
                )
            }
        }
        if let email = term.email {
            // Two indexes, neither of which serves the other's form; identities hold the address that a provider gave.
            // Qualified, since the column is varchar: `public.lower(varchar)` would fit better than the server's own
            // function.
            branches.append("select id, 'email' from auth.users where email = \(email) and is_sso_user = false")
            branches.append(
                "select id, 'email' from auth.users where \(instance) and pg_catalog.lower(email) = \(email)"
            )
            branches.append(
                "select i.user_id, 'email' from auth.identities as i where i.email = \(email) and "
                    + IdentifierCollection.isOfProvider
            )
            if schema.isInstalled { branches.append(relayAddresses + "address = \(email)") }
        }
        if let phone = term.phone {
            branches.append("select id, 'phone' from auth.users where phone = \(phone)")
        }
        if let provider = term.providerID {
            branches.append(
                "select user_id, " + providerKind + " from auth.identities where provider_id = \(provider) and "
                    + providers(of: term)
            )
        }
        if let username = term.username, schema.usernames != .none {
            branches.append("select id, 'username' from public.profiles where username = \(username)")
        }
        return branches
    }

    private func starts(_ term: LookupTerm, in schema: DirectorySchema) -> [Statement] {
        var branches: [Statement] = []
        if let ids = term.ids {
            let range: Statement = "id between \(ids.lowerBound) and \(ids.upperBound)"
            if term.kind != .request { branches.append("select id, 'id' from auth.users where " + range) }
            if schema.isInstalled, term.kind != .userID {
                branches.append(
                    "select user_id, 'request' from accountctl.deletion_requests where user_id is not null and " + range
                )
            }
        }
        if let email = term.email {
            branches.append(
                "select id, 'email' from auth.users where is_sso_user = false and " + Self.starts("email", email)
            )
            branches.append(
                "select id, 'email' from auth.users where \(Self.instance) and "
                    + Self.starts("pg_catalog.lower(email)", email)
            )
            branches.append(
                "select i.user_id, 'email' from auth.identities as i where i.email like \(Self.pattern(email) + "%") and "
                    + IdentifierCollection.isOfProvider
            )
            if schema.isInstalled { branches.append(Self.relayAddresses + Self.starts("address", email)) }
        }
        if let phone = term.phone {
            branches.append("select id, 'phone' from auth.users where " + Self.starts("phone", phone))
        }
        if let provider = term.providerID {
            branches.append(
                "select user_id, " + Self.providerKind + " from auth.identities where "
                    + Self.starts("provider_id", provider) + " and " + Self.providers(of: term)
            )
        }
        if let username = term.username, schema.usernames == .indexed {
            branches.append("select id, 'username' from public.profiles where " + Self.starts("username", username))
        }
        return branches.map(limited)
    }

    private func parts(_ term: LookupTerm, in schema: DirectorySchema) -> [Statement] {
        let pattern = "%" + Self.pattern(term.text) + "%"
        var branches: [Statement] = []
        if term.email != nil {
            branches.append("select id, 'email' from auth.users where email ilike \(pattern)")
            branches.append(
                "select i.user_id, 'email' from auth.identities as i where i.email ilike \(pattern) and "
                    + IdentifierCollection.isOfProvider
            )
            if schema.isInstalled { branches.append(Self.relayAddresses + "address ilike \(pattern)") }
        }
        if term.username != nil, schema.usernames != .none {
            branches.append("select id, 'username' from public.profiles where username ilike \(pattern)")
        }
        return branches.map(limited)
    }

    private func limited(_ branch: Statement) -> Statement {
        "(" + branch + " limit \(limit + 1))"
    }

    private static let providerKind: Statement = "case when provider = 'apple' then 'apple-sub' else 'provider-id' end"

    /// Identities of Apple only, of other providers only, or of all.
    private static func providers(of term: LookupTerm) -> Statement {
        let (takesApple, takesOthers) = (term.kind != .providerID, term.kind != .appleSub)
        return "case when provider = 'apple' then \(takesApple) else \(takesOthers) end"
    }

    /// A range of the column's index, whatever its collation; other values that the collation puts in the range are
    /// filtered out.
    private static func starts(_ column: Statement, _ start: String) -> Statement {
        column + " >= \(start) and " + column + " < \(start + "\u{10FFFF}") and pg_catalog.starts_with(" + column
            + ", \(start))"
    }

    /// The text with the wildcards of `like` escaped, even where an accent combines with one into another `Character`.
    private static func pattern(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar == "\\" || scalar == "%" || scalar == "_" { result.append("\\") }
            result.unicodeScalars.append(scalar)
        }
    }
}
