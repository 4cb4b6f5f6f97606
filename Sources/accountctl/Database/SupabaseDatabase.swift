import Postgres

/// Checks that a database is one of Supabase's: without its accounts no command makes sense, and probably another
/// database was meant.
enum SupabaseDatabase {
    /// The hint that says where the database is named.
    static let hint =
        "It is named by --database-url, the setting database.url or the PG* variables; accountctl config show says "
        + "what the setting is and where it comes from."

    /// The message for a database that is not Supabase's; nil for one that is.
    static func absence(on connection: isolated Connection) throws -> String? {
        // From the catalog, which a role without privileges on the schema can read.
        let (name, address, isOne) = try connection.one(
            """
            select current_database()::text, host(inet_server_addr()) || ':' || inet_server_port(),
                   exists (
                       select
                       from pg_catalog.pg_class as c
                       join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
                       where n.nspname = 'auth' and c.relname = 'users'
                   )
            """,
            as: (String, String?, Bool).self
        )
        if isOne { return nil }
        return "the database \"\(name)\"" + (address.map { " at \($0)" } ?? "")
            + " has no auth.users: it is not Supabase's"
    }

    /// Refuses a database that is not Supabase's.
    ///
    /// - Throws: ``CommandError``; `PostgresError`.
    static func check(_ connection: isolated Connection) throws {
        if let absence = try absence(on: connection) { throw CommandError(.failure, absence, hint: hint) }
    }
}
