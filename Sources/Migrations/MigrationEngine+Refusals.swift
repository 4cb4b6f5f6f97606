package import Postgres

extension MigrationEngine {
    /// Refuses the run before it starts for problems that would otherwise stop it halfway, with the earlier migrations
    /// applied.
    func refuse(_ plan: MigrationPlan, on connection: isolated Connection) async throws {
        try checkSchema(for: plan, on: connection)
        let items = try await AdoptionPlan.pending(Set(plan.pending.map(\.number)), nil, on: connection)
        let reasons = items.filter(\.decision.isRefusal).compactMap(\.decision.reason)
        guard let first = reasons.first else { return }
        throw MigrationError(
            .refused,
            "nothing was changed: \(first)",
            hint: "accountctl migrate plan names everything that is in the way."
        )
    }

    /// Refuses to apply anything to a schema that this program did not create in full.
    ///
    /// - Throws: ``MigrationError`` `refused`; `PostgresError`.
    package func checkSchema(for plan: MigrationPlan, on connection: isolated Connection) throws {
        guard !plan.pending.isEmpty else { return }
        try checkOwner(on: connection)
        guard plan.items.allSatisfy({ $0.applied == nil }) else { return }
        try checkHistory(on: connection)
        try checkRights(on: connection)
    }

    /// Refuses a role that does not own the schema, since the objects that a migration creates belong to the role that
    /// runs it.
    ///
    /// Neither the workers nor the functions that the app calls could use those objects, and no check would report it.
    private func checkOwner(on connection: isolated Connection) throws {
        let other = try connection.first(
            """
            select pg_get_userbyid(relowner)::text, current_user::text
            from pg_class
            where oid = to_regclass('accountctl.migrations')
              and pg_get_userbyid(relowner) <> current_user
            """,
            as: (String, String).self
        )
        guard let (owner, role) = other else { return }
        throw MigrationError(
            .refused,
            "nothing was changed: the schema accountctl belongs to the role \(owner), and this is \(role)",
            hint: "Connect as \(owner): what \(role) creates could not be used by the workers and the app's functions."
        )
    }

    /// Refuses a role that lacks a right without which one of the first migrations fails.
    ///
    /// The schema would belong to this role by then, so that no other could complete it.
    private func checkRights(on connection: isolated Connection) throws {
        let missing = try connection.query(
            """
            select needed.what
            from (
                values
                    ('create on this database', has_database_privilege(current_database(), 'create')),
                    ('create on the schema public', has_schema_privilege(to_regnamespace('public'), 'create')),
                    ('references on auth.users', has_column_privilege(to_regclass('auth.users'), 'id', 'references')),
                    (
                        'createrole, for the role accountctl_operator',
                        to_regrole('accountctl_operator') is not null
                            or (select rolcreaterole or rolsuper from pg_roles where rolname = current_user)
                    )
            ) as needed(what, is_held)
            where not needed.is_held
            """,
            as: String.self
        )
        guard !missing.isEmpty else { return }
        throw MigrationError(
            .refused,
            "nothing was changed: this role lacks rights: " + missing.joined(separator: "; "),
            hint: "Migrate as the platform's role postgres."
        )
    }

    /// Refuses a schema without a history: a copy of the structure lacks the rows that migrations write.
    private func checkHistory(on connection: isolated Connection) throws {
        guard try connection.one("select to_regclass('accountctl.settings') is not null", as: Bool.self) else { return }
        throw MigrationError(
            .refused,
            "nothing was changed: the schema accountctl exists without its history",
            hint: "If supabase db pull or db diff wrote it into your own migrations, remove it from them and create "
                + "this database again. In a restored one, accountctl.migrations, migration_bundles and "
                + "catalog_snapshot are missing."
        )
    }
}
