import Postgres
import Terminal

extension DatabaseDoctor {
    /// Reports objects of the schema that belong to a role whose rights the schema's owner lacks, for example because
    /// an administrator created them or changed their owner.
    ///
    /// Sequences owned by a column are covered by its table. Daily partitions of the history belong to the worker's
    /// role, but the schema's owner may still drop them.
    func schemaOwners(on connection: isolated Connection) throws -> [DoctorFinding] {
        let rows = try connection.query(
            """
            select quote_ident(pg_get_userbyid(o.owner)), quote_ident(pg_get_userbyid(n.nspowner)), o.name
            from pg_namespace as n
            cross join lateral (
                select c.relowner as owner, c.oid::regclass::text as name
                from pg_class as c
                where c.relnamespace = n.oid
                  and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
                  and not c.relispartition
                  and not exists (
                      select
                      from pg_depend as d
                      where c.relkind = 'S'
                        and d.classid = 'pg_class'::regclass
                        and d.objid = c.oid
                        and d.refobjsubid > 0
                  )
                union all
                select p.proowner, p.oid::regprocedure::text
                from pg_proc as p
                where p.pronamespace = n.oid
                union all
                select t.typowner, t.oid::regtype::text
                from pg_type as t
                where t.typnamespace = n.oid
                  and t.typtype in ('d', 'e')
            ) as o
            where n.nspname = 'accountctl'
              and not pg_has_role(n.nspowner, o.owner, 'usage')
            order by 1, 3
            """,
            as: (String, String, String).self
        )
        return Dictionary(grouping: rows, by: \.0).sorted { $0.key < $1.key }.map { role, rows in
            let owner = rows[0].1
            return DoctorFinding(
                .error,
                "schema.owners",
                "\(role) owns objects in the schema of \(owner): \(Wording.list(rows.map(\.2), atMost: 10))",
                why: "Neither \(owner), as whom the functions run, nor the next migration may use or change them.",
                todo: "Give them to \(owner) (alter … owner to \(owner)), as a role that is a member of both."
            )
        }
    }
}
