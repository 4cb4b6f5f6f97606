import Postgres

/// Whether a database is one of Supabase's: without its accounts nothing here has a meaning, and another one was
/// probably meant.
enum SupabaseDatabase {
    /// Where to look for the mistake.
    static let hint = "It is named by --database-url, the setting database.url or the PG* variables."

    /// What to say of a database that is none; nil of one that is.
    static func absence(on connection: isolated Connection) throws -> String? {
        // By the catalog: a role without rights on the schema may ask that, too.
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

    /// Refuses one that is none.
    ///
    /// - Throws: ``CommandError``; `PostgresError`.
    static func check(_ connection: isolated Connection) throws {
        if let absence = try absence(on: connection) { throw CommandError(.failure, absence, hint: hint) }
    }
}
