import Postgres
import Terminal

extension DatabaseDoctor {
    func role(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (name, isSuperuser, bypasses) = try connection.one(
            "select rolname::text, rolsuper, rolbypassrls from pg_roles where rolname = current_user",
            as: (String, Bool, Bool).self
        )
        var findings: [DoctorFinding] = []
        if isSuperuser || bypasses {
            findings.append(.ok("database.role", "\(name) is not bound by row-level security"))
        } else {
            findings.append(
                DoctorFinding(
                    .error,
                    "database.role",
                    "row-level security binds the role \(name)",
                    why: "It would find no account and call that clean.",
                    todo: "Connect as postgres, or as a role with BYPASSRLS."
                )
            )
        }
        if isSuperuser {
            findings.append(
                DoctorFinding(
                    .notice,
                    "database.superuser",
                    "\(name) is a superuser",
                    why: "Much more than is needed.",
                    todo: "Use the role postgres of Supabase, or one with its rights."
                )
            )
        }
        let unreadable = try connection.query(
            """
            select c.oid::regclass::text
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in ('auth', 'storage')
              and c.relname in (
                  'users', 'identities', 'sessions', 'refresh_tokens', 'flow_state', 'audit_log_entries', 'objects', 'buckets'
              )
              and c.relkind in ('r', 'p')
              and not has_table_privilege(c.oid, 'select')
            order by 1
            """,
            as: String.self
        )
        if !unreadable.isEmpty {
            findings.append(
                DoctorFinding(
                    .error,
                    "database.rights",
                    "\(name) may not read \(Wording.list(unreadable))",
                    why: "What cannot be read cannot be erased or verified.",
                    todo: "Connect as postgres, or grant SELECT and DELETE."
                )
            )
        }
        return findings
    }
}
