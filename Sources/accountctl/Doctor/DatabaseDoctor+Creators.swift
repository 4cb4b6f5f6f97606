import Postgres

extension DatabaseDoctor {
    /// Reports other roles that may create objects in a schema on the search path, which sessions such as this one may
    /// find before the server's own.
    ///
    /// Leaves out roles that can act as our role or as the database's owner anyway, roles that nobody can log in as,
    /// and those of Supabase's own services.
    ///
    /// Sessions keep the search path of the role, because the app's triggers run inside our deletes and find the app's
    /// tables by it.
    func creators(on connection: isolated Connection) throws -> [DoctorFinding] {
        let rows = try connection.query(
            // Names are qualified and types are the server's own, since others may already have planted objects here.
            """
            select
                pg_catalog.quote_ident(n.nspname::text),
                case when a.grantee = 0::oid then 'public' else pg_catalog.quote_ident(r.rolname::text) end
            from pg_catalog.unnest(pg_catalog.current_schemas(false)) as p (name)
            join pg_catalog.pg_namespace as n on n.nspname = p.name
            cross join lateral pg_catalog.aclexplode(
                coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))
            ) as a
            left join pg_catalog.pg_roles as r on r.oid = a.grantee
            where a.privilege_type = 'CREATE'
              and (
                  a.grantee = 0::oid
                  or \(Self.isOthers("a.grantee"))
              )
            order by 1, 2
            """,
            as: (String, String).self
        )
        return Dictionary(grouping: rows, by: \.0).sorted { $0.key < $1.key }.map { schema, rows in
            let roles = rows.map(\.1).joined(separator: ", ")
            return DoctorFinding(
                .error,
                "database.creators",
                "other roles may create objects in the schema \(schema), where our sessions resolve names: \(roles)",
                why:
                    "A function there that matches a call better is chosen over the server's own, and runs with our rights.",
                todo: "revoke create on schema \(schema) from \(roles)"
            )
        }
    }
}
