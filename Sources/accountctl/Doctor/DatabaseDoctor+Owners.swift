import AccountLifecycle
import Postgres
import Terminal

extension DatabaseDoctor {
    /// Warns of other roles that can run code with our rights when an account is deleted: owners of a table whose rows
    /// are deleted or changed, who may add triggers to it, and owners of the function of a trigger there.
    ///
    /// A trigger that fires after a delete runs as the role that deletes, even if a cascade deletes the rows as the
    /// table's owner. The tables of Supabase's own services are left out.
    func owners(_ plan: DeletionPlan, on connection: isolated Connection) throws -> [DoctorFinding] {
        let tables = plan.touched.filter { !["auth", "storage"].contains($0.schema) }
        let rows = try connection.query(
            // As in creators(on:), only the server's own functions are called; unnest of several arrays is one even
            // without a schema.
            """
            select pg_catalog.quote_ident(r.rolname::text), o.name
            from (
                select c.relowner as id, pg_catalog.format('%I.%I', n.nspname, c.relname) as name
                from unnest(\(tables.map(\.schema)), \(tables.map(\.name))) as w (schema, name)
                join pg_catalog.pg_namespace as n on n.nspname = w.schema
                join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = w.name
                union
                select p.proowner, pg_catalog.format('%I.%I()', f.nspname, p.proname)
                from unnest(\(tables.map(\.schema)), \(tables.map(\.name))) as w (schema, name)
                join pg_catalog.pg_namespace as n on n.nspname = w.schema
                join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = w.name
                join pg_catalog.pg_trigger as g on g.tgrelid = c.oid
                join pg_catalog.pg_proc as p on p.oid = g.tgfoid
                join pg_catalog.pg_namespace as f on f.oid = p.pronamespace
                where not g.tgisinternal
                  and \(Statement.isEnabled("g.tgenabled"))
                  and g.tgtype::int4 & 24 <> 0
                  and not p.prosecdef
            ) as o (id, name)
            join pg_catalog.pg_roles as r on r.oid = o.id
            where \(Self.isOthers("o.id"))
            order by 1, 2
            """,
            as: (String, String).self
        )
        return Dictionary(grouping: rows, by: \.0).sorted { $0.key < $1.key }.map { role, rows in
            DoctorFinding(
                .warning,
                "deletion.owners",
                "\(role) owns objects that a deletion uses: \(Wording.list(rows.map(\.1)))",
                why: "Triggers there run with our rights, which cover the whole database.",
                todo: "Give them to our own role (alter … owner to …), unless \(role) is trusted with everything."
            )
        }
    }

    /// A condition that is true if a login role other than a superuser can act as `role`, but neither as our role nor as
    /// the database's owner.
    ///
    /// The roles of Supabase's own services do not count: nobody else can log in as them, and the platform gives
    /// Realtime's the right to create objects in `public`.
    static func isOthers(_ role: Statement) -> Statement {
        """
        exists (
            select
            from pg_catalog.pg_roles as l
            join pg_catalog.pg_database as d on d.datname = pg_catalog.current_database()
            where l.rolcanlogin
              and not l.rolsuper
              and l.rolname not in ('supabase_auth_admin', 'supabase_realtime_admin', 'supabase_storage_admin')
              and pg_catalog.pg_has_role(l.oid, \(role), 'MEMBER')
              and not pg_catalog.pg_has_role(l.oid, current_user, 'MEMBER')
              and not pg_catalog.pg_has_role(l.oid, d.datdba, 'MEMBER')
        )
        """
    }
}
