import Postgres
import Terminal

extension DatabaseDoctor {
    /// Checks that the API's roles cannot use the private schema.
    ///
    /// `migrate up` closes the schema when it creates it. Earlier versions left it open where the database's default
    /// privileges open each new schema, and recorded that as the expected state, so that it is no drift.
    func openSchema(on connection: isolated Connection) throws -> [DoctorFinding] {
        let holders = try connection.query(
            """
            select case when a.grantee = 0 then 'public' else pg_get_userbyid(a.grantee)::text end as holder
            from pg_catalog.pg_namespace as n, aclexplode(n.nspacl) as a
            where n.nspname = 'accountctl'
              and a.privilege_type = 'USAGE'
              and (a.grantee = 0 or pg_get_userbyid(a.grantee) in ('anon', 'authenticated', 'service_role'))
            order by holder
            """,
            as: String.self
        ).joined(separator: ", ")
        guard !holders.isEmpty else { return [] }
        return [
            DoctorFinding(
                .error,
                "schema.open",
                "the schema accountctl can be used by \(holders)",
                why: "It is private: the database's default privileges may open its tables to the same roles.",
                todo: "revoke all on schema accountctl from \(holders)"
            )
        ]
    }
}
