package import Postgres

/// The additional locks that Supabase's platform takes for a statement on policies.
///
/// There, the extension supautils lets `postgres` manage policies of tables that it does not own. To find out whether a
/// table is one of those, the extension locks the tables on its list one by one until it finds that table, and all of
/// them if it does not. The locks last until the transaction ends, so sign-ins and file access wait
/// (`src/policy_grants.c` of supautils).
package enum PlatformLocks {
    /// The tables that any statement on policies locks; empty without the extension.
    ///
    /// - Throws: `PostgresError`.
    package static func read(on connection: isolated Connection) throws -> [TableLock] {
        try connection.query(
            """
            select distinct listed.name
            from jsonb_array_elements_text(
                coalesce(nullif(current_setting('supautils.policy_grants', true), ''), '{}')::jsonb -> current_user
            ) as listed(name)
            where exists (
                select
                from pg_class as c
                join pg_namespace as n on n.oid = c.relnamespace
                where n.nspname || '.' || c.relname = listed.name
            )
            order by listed.name
            """,
            as: String.self
        ).map { TableLock(.accessExclusive, on: $0) }
    }
}

extension Migration {
    /// Whether the text has statements on policies, including those inside blocks of procedural code and those that are
    /// put together there.
    var rulesPolicies: Bool {
        let words = sql.lowercased().split { !$0.isLetter && $0 != "_" }
        return zip(words, words.dropFirst()).contains { verb, object in
            object == "policy" && ["create", "alter", "drop", "on"].contains(verb)
        }
    }

    /// The locks that this migration takes on existing tables, including those that the platform adds.
    package func locks(with platform: [TableLock]) -> [TableLock] {
        guard rulesPolicies else { return locks }
        let strongest = Dictionary((locks + platform).map { ($0.table, $0.mode) }) { max($0, $1) }
        return strongest.sorted { $0.key < $1.key }.map { TableLock($0.value, on: $0.key) }
    }
}
