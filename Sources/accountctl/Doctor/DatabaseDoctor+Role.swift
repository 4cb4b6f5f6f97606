import Postgres
import Terminal

extension DatabaseDoctor {
    /// Checks what the role may see and do.
    func role(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (name, isSuperuser, bypasses) = try connection.one(
            "select rolname::text, rolsuper, rolbypassrls from pg_roles where rolname = current_user",
            as: (String, Bool, Bool).self
        )
        var findings = [Self.visibility(for: name, isWhole: isSuperuser || bypasses)]
        if isSuperuser {
            findings.append(
                DoctorFinding(
                    .notice,
                    "database.superuser",
                    "\(name) is a superuser",
                    why: "It has far more rights than needed.",
                    todo: "Use the role postgres of Supabase, or one with its rights."
                )
            )
        }
        return try findings + rights(of: name, on: connection)
    }

    /// Checks that the role sees every row.
    private static func visibility(for role: String, isWhole: Bool) -> DoctorFinding {
        guard !isWhole else { return .ok("database.role", "\(role) is not subject to row-level security") }
        return DoctorFinding(
            .error,
            "database.role",
            "the role \(role) is subject to row-level security",
            why: "It would find no accounts, and report the database as clean.",
            todo: "Connect as postgres, or as a role with BYPASSRLS."
        )
    }

    /// Supabase's tables that the role may not read.
    private func rights(of role: String, on connection: isolated Connection) throws -> [DoctorFinding] {
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
        guard !unreadable.isEmpty else { return [] }
        return [
            DoctorFinding(
                .error,
                "database.rights",
                "\(role) may not read \(Wording.list(unreadable))",
                why: "What cannot be read cannot be erased or verified.",
                todo: "Connect as postgres, or grant SELECT and DELETE."
            )
        ]
    }
}
