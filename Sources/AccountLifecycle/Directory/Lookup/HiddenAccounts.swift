import Postgres

/// Row-level security hides accounts from the current role: an account that it does not find may exist all the same.
package struct HiddenAccounts: Error, Sendable, Equatable, CustomStringConvertible {
    /// The tables whose rows are hidden.
    let tables: [String]

    package var description: String {
        "row-level security hides rows of \(tables.joined(separator: ", ")) from this role: accounts that it does not "
            + "find may exist"
    }

    /// A query of the tables whose rows are hidden from the current role.
    static let statement: Statement = """
        select name
        from unnest(array[
            'auth.users', 'auth.identities', 'public.profiles', 'accountctl.deletion_requests',
            'accountctl.deletion_receipts', 'accountctl.relay_addresses'
        ]) as name
        where to_regclass(name) is not null and row_security_active(to_regclass(name))
        """

    /// Refuses a role from which rows are hidden, since it would take hidden accounts for absent.
    ///
    /// - Throws: `HiddenAccounts`; `PostgresError`.
    static func refuse(on connection: isolated Connection) throws {
        let tables = try connection.query(statement, as: String.self)
        if !tables.isEmpty { throw HiddenAccounts(tables: tables) }
    }
}
