import Postgres

/// The facts about the database's schema on which a lookup depends: read once, however many terms are looked up.
package struct DirectorySchema: Sendable, Equatable {
    /// Whether the product's own tables exist.
    let isInstalled: Bool
    let usernames: Usernames

    package init(isInstalled: Bool, usernames: Usernames) {
        self.isInstalled = isInstalled
        self.usernames = usernames
    }

    /// Reads the catalog in one statement: a new session has to load every catalog table that it names.
    ///
    /// - Throws: ``HiddenAccounts`` for a role that row-level security binds; `PostgresError`.
    static func read(for terms: [LookupTerm], on connection: isolated Connection) throws -> DirectorySchema {
        // Asks about usernames only what the terms need: each answer costs a new session half a millisecond or more.
        let needsUsernames = terms.contains { $0.username != nil }
        let needsIndex = terms.contains { $0.username != nil && $0.comparison == .prefix }
        let (hidden, isInstalled, areThere, areIndexed) = try connection.one(
            """
            select array(
            """ + HiddenAccounts.statement
                + """
                ), \(AccountLifecycle.isThere),
                """ + (needsUsernames ? Usernames.areThere : "false") + ", "
                + (needsIndex ? Usernames.areIndexed : "false"),
            as: ([String], Bool, Bool, Bool).self
        )
        if !hidden.isEmpty { throw HiddenAccounts(tables: hidden) }
        return DirectorySchema(
            isInstalled: isInstalled,
            usernames: !areThere ? .none : areIndexed ? .indexed : .unindexed
        )
    }
}
