package import Postgres

/// The locks that Supabase's platform adds to a statement on policies.
///
/// There `postgres` may rule policies of tables that it does not own, by an extension, supautils. To learn whether a
/// table is one of those, the extension locks each that it lists until the one in question is found, all of them where
/// that is none of them, and the locks stay until the transaction ends: sign-ins and files wait (`src/policy_grants.c`
/// of supautils).
package enum PlatformLocks {
    /// The tables that are locked by a statement on policies of whatever table; none without the extension.
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
    /// Whether statements on policies stand in it, those inside blocks of procedural code included.
    var rulesPolicies: Bool {
        let words = sql.lowercased().split(whereSeparator: \.isWhitespace)
        return zip(words, words.dropFirst()).contains { verb, object in
            object == "policy" && ["create", "alter", "drop", "on"].contains(verb)
        }
    }

    /// The locks that this migration takes on tables that are there already, with those that the platform adds.
    package func locks(with platform: [TableLock]) -> [TableLock] {
        guard rulesPolicies else { return locks }
        let strongest = Dictionary((locks + platform).map { ($0.table, $0.mode) }) { max($0, $1) }
        return strongest.sorted { $0.key < $1.key }.map { TableLock($0.value, on: $0.key) }
    }
}
