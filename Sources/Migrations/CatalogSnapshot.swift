package import Postgres

/// What the catalogs say of the objects that the migrations made, as text that can be compared.
package enum CatalogSnapshot {
    /// A difference between what was recorded and what is there.
    package struct Difference: Sendable, Equatable {
        package enum Kind: String, Sendable, Equatable {
            case added, removed, changed
        }

        package let kind: Kind
        /// What differs, such as `policy public.profiles "profiles are …"`.
        package let object: String
        package let recorded: String?
        package let present: String?

        /// Whether something is gone or changed that acts or forbids by itself, or may be done now by whoever has the app's public key.
        package var isGrave: Bool {
            let actsByItself = object.hasPrefix("policy ") || object.hasPrefix("trigger ")
            switch kind {
            case .added: return false
            case .removed: return actsByItself
            case .changed:
                return actsByItself || isWithoutRowSecurity
                    || !Self.openRights(present).isSubset(of: Self.openRights(recorded))
            }
        }

        private var isWithoutRowSecurity: Bool {
            let isOn = " row security true "
            return recorded?.contains(isOn) == true && present?.contains(isOn) == false
        }

        /// What everybody and the role `anon` may do, one word for each right, such as `anon=D`.
        private static func openRights(_ definition: String?) -> Set<String> {
            let grants = (definition ?? "").split(separator: " ").filter {
                ($0.hasPrefix("=") || $0.hasPrefix("anon=")) && $0.contains("/")
            }
            return Set(
                grants.flatMap { grant in
                    let role = grant.prefix { $0 != "=" }
                    return grant.dropFirst(role.count + 1).prefix { $0 != "/" }.map { "\(role)=\($0)" }
                }
            )
        }
    }

    /// Prepares a run: notes what differs already, so that the run does not take it for its own doing.
    ///
    /// What it notes is committed before the first migration is: a run that dies is made good by the next one, ``isUnfinished(on:)``.
    ///
    /// - Returns: What differs.
    static func begin(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction { connection in
            // Before the first record everything would differ.
            let isRecorded = try connection.one(
                "select exists (select from accountctl.catalog_snapshot)",
                as: Bool.self
            )
            let found = isRecorded ? try differencesInTransaction(on: connection) : []
            try connection.script(
                unsafeSQL: """
                    create table if not exists accountctl.catalog_drift (
                        object text not null constraint catalog_drift_pkey primary key,
                        definition text
                    );
                    comment on table accountctl.catalog_drift is
                        'What differed from the snapshot when a run began that has not ended yet; the row without a name is the run.';
                    insert into accountctl.catalog_drift (object) values ('');
                    """
            )
            let (objects, definitions) = (found.map(\.object), found.map(\.present))
            try connection.execute(
                """
                insert into accountctl.catalog_drift (object, definition)
                select * from unnest(\(objects)::text[], \(definitions)::text[])
                """
            )
            return found
        }
    }

    /// Records what is there now as what should be there, except what differed before the run and was not touched by it.
    static func record(on connection: isolated Connection) async throws {
        try await connection.transaction { connection in
            try fixNames(on: connection)
            let present = "with present as (" + Statement(unsafeSQL: objects) + ") "
            if try connection.one(
                "select exists (select from accountctl.catalog_drift where object <> '')",
                as: Bool.self
            ) {
                try connection.execute(
                    present + """
                        delete from accountctl.catalog_drift as d
                        where d.object <> ''
                          and d.definition is distinct from (select p.definition from present as p where p.object = d.object)
                        """
                )
            }
            try connection.execute(
                """
                delete from accountctl.catalog_snapshot
                where object not in (select object from accountctl.catalog_drift)
                """
            )
            try connection.execute(
                present + """
                    insert into accountctl.catalog_snapshot (object, definition)
                    select object, definition
                    from present
                    where object not in (select object from accountctl.catalog_drift)
                    """
            )
            try connection.execute("delete from accountctl.catalog_drift")
        }
    }

    /// Whether a run applied migrations, or was about to, and died before it recorded what they made.
    package static func isUnfinished(on connection: isolated Connection) throws -> Bool {
        guard try connection.one("select to_regclass('accountctl.catalog_drift') is not null", as: Bool.self) else {
            return false
        }
        return try connection.one("select exists (select from accountctl.catalog_drift)", as: Bool.self)
    }

    /// What differs from what was recorded, in the order of the objects' names; in a transaction of its own.
    package static func differences(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction(readOnly: true) { connection in
            try differencesInTransaction(on: connection)
        }
    }

    /// Has the catalogs print names in one form, until the transaction ends, whatever path the role or the database has.
    ///
    /// By this one nearly all snapshots that are out there were recorded.
    private static func fixNames(on connection: isolated Connection) throws {
        try connection.execute("set local search_path = public")
    }

    /// A definition in the form in which it is compared.
    ///
    /// An owner's rights that are granted by nobody and those that are written out are the same, and a backup does not keep them apart;
    /// nor does the right to maintain a table count, which PostgreSQL has from 17 on.
    private static func compared(_ definition: String) -> Statement {
        Statement(
            unsafeSQL: """
                regexp_replace(
                    replace(\(definition), 'arwdDxtm/', 'arwdDxt/'), ' grants (\\S+)=arwdDxt/\\1( as |$)', ' grants \\2'
                )
                """
        )
    }

    private static func differencesInTransaction(on connection: isolated Connection) throws -> [Difference] {
        try fixNames(on: connection)
        return try connection.query(
            "with present as (" + Statement(unsafeSQL: objects)
                + """
                )
                select coalesce(r.object, p.object), r.definition, p.definition
                from accountctl.catalog_snapshot as r
                full join present as p on p.object = r.object
                """ + " where " + compared("r.definition") + " is distinct from " + compared("p.definition")
                + " order by 1",
            as: (String, String?, String?).self
        )
        .map { object, recorded, present in
            Difference(
                kind: recorded == nil ? .added : present == nil ? .removed : .changed,
                object: object,
                recorded: recorded,
                present: present
            )
        }
    }

    /// Records what is there now as what should be there, unless what differs is something else than was said.
    ///
    /// - Parameters:
    ///   - differences: what was said.
    ///   - connection: holds the lock of migrations.
    ///   - recording: what is done in the same transaction where it is recorded.
    /// - Returns: Whether it was recorded.
    /// - Throws: `PostgresError`, and what `recording` throws.
    static func accept(
        _ differences: [Difference],
        on connection: isolated Connection,
        recording: @Sendable (isolated Connection) throws -> Void
    ) async throws -> Bool {
        try await connection.transaction { connection in
            guard try differencesInTransaction(on: connection) == differences else { return false }
            try recording(connection)
            try connection.execute("delete from accountctl.catalog_snapshot")
            try connection.execute(
                "insert into accountctl.catalog_snapshot (object, definition) " + Statement(unsafeSQL: objects)
            )
            if try isUnfinished(on: connection) { try connection.execute("delete from accountctl.catalog_drift") }
            return true
        }
    }

    /// One row per object.
    ///
    /// Everything in the private schema except what runs change by themselves (partitions), and of the public surface what others
    /// rely on: the functions that the app calls, the one at sign-up where it is ours, row-level security, policies and grants of
    /// profiles, policies that speak of avatars, and triggers that call our functions. Columns that an app adds to its profiles are its
    /// own business.
    private static let objects = """
        select object, definition
        from (
            select 'schema ' || n.nspname as object,
                   'owner ' || pg_get_userbyid(n.nspowner) || ' grants ' || coalesce(acl.text, '') as definition
            from pg_namespace as n
            left join lateral (
                select string_agg(a::text, ' ' order by a::text) as text from unnest(n.nspacl) as a
            ) as acl on true
            where n.nspname = 'accountctl'

            union all
            select 'relation ' || n.nspname || '.' || c.relname,
                   'kind ' || c.relkind::text || ' owner ' || pg_get_userbyid(c.relowner)
                   || ' row security ' || c.relrowsecurity || ' forced ' || c.relforcerowsecurity
                   || ' grants ' || coalesce(acl.text, '')
                   || case when c.relkind = 'v' then ' as ' || pg_get_viewdef(c.oid) else '' end
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            left join lateral (
                select string_agg(a::text, ' ' order by a::text) as text from unnest(c.relacl) as a
            ) as acl on true
            where (n.nspname = 'accountctl' or (n.nspname = 'public' and c.relname = 'profiles'))
              and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
              and not c.relispartition

            union all
            select 'column ' || n.nspname || '.' || c.relname || '.' || a.attname,
                   format_type(a.atttypid, a.atttypmod)
                   || case when a.attnotnull then ' not null' else '' end
                   || case when a.attidentity <> '' then ' identity ' || a.attidentity::text else '' end
                   || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
            from pg_attribute as a
            join pg_class as c on c.oid = a.attrelid
            join pg_namespace as n on n.oid = c.relnamespace
            left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where n.nspname = 'accountctl'
              and c.relkind in ('r', 'p', 'f')
              and not c.relispartition
              and a.attnum > 0
              and not a.attisdropped

            union all
            select 'constraint ' || n.nspname || '.' || c.relname || '.' || k.conname,
                   pg_get_constraintdef(k.oid) || case when k.convalidated then '' else ' not valid' end
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname = 'accountctl'
              and not c.relispartition
              -- Told with the column: only from PostgreSQL 18 on it is a constraint as well.
              and k.contype <> 'n'

            union all
            select 'index ' || n.nspname || '.' || c.relname,
                   pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' invalid' end
            from pg_index as i
            join pg_class as c on c.oid = i.indexrelid
            join pg_class as t on t.oid = i.indrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname = 'accountctl'
              and not t.relispartition

            union all
            select 'function ' || p.oid::regprocedure::text,
                   'owner ' || pg_get_userbyid(p.proowner) || ' grants ' || coalesce(acl.text, '')
                   || ' ' || pg_get_functiondef(p.oid)
            from pg_proc as p
            join pg_namespace as n on n.oid = p.pronamespace
            left join lateral (
                select string_agg(a::text, ' ' order by a::text) as text from unnest(p.proacl) as a
            ) as acl on true
            where p.prokind in ('f', 'p')
              and (
                  n.nspname = 'accountctl'
                  or (
                      n.nspname = 'public'
                      and p.proname in (
                          'request_account_deletion', 'cancel_account_deletion', 'account_deletion_status',
                          'submit_apple_authorization_code', 'report_apple_credential_state',
                          'receive_apple_notification'
                      )
                  )
                  -- Migration 0059 says so where it is ours, and stays so when somebody replaces it.
                  or (
                      n.nspname = 'public'
                      and p.proname = 'handle_new_user'
                      and obj_description(p.oid, 'pg_proc') like '% Of accountctl.'
                  )
              )

            union all
            select 'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass::text,
                   pg_get_triggerdef(t.oid) || ' enabled ' || t.tgenabled::text
            from pg_trigger as t
            join pg_class as c on c.oid = t.tgrelid
            join pg_namespace as n on n.oid = c.relnamespace
            join pg_proc as p on p.oid = t.tgfoid
            join pg_namespace as pn on pn.oid = p.pronamespace
            where not t.tgisinternal
              and not c.relispartition
              and (n.nspname = 'accountctl' or pn.nspname = 'accountctl' or p.proname = 'handle_new_user')

            union all
            select 'policy ' || quote_ident(l.polname) || ' on ' || l.polrelid::regclass::text,
                   l.polcmd::text || case when l.polpermissive then ' permissive' else ' restrictive' end
                   || ' to ' || (
                       select string_agg(r::text, ',' order by r::text)
                       from (select case when o = 0 then 'public' else pg_get_userbyid(o)::text end as r
                             from unnest(l.polroles) as o) as named
                   )
                   || coalesce(' using ' || pg_get_expr(l.polqual, l.polrelid), '')
                   || coalesce(' check ' || pg_get_expr(l.polwithcheck, l.polrelid), '')
            from pg_policy as l
            join pg_class as c on c.oid = l.polrelid
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname = 'accountctl'
               or (n.nspname = 'public' and c.relname = 'profiles')
               or (
                   n.nspname = 'storage'
                   and c.relname = 'objects'
                   and concat(pg_get_expr(l.polqual, l.polrelid), pg_get_expr(l.polwithcheck, l.polrelid)) like '%avatars%'
               )

            union all
            select 'type ' || t.typname,
                   string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
            from pg_type as t
            join pg_enum as e on e.enumtypid = t.oid
            join pg_namespace as n on n.oid = t.typnamespace
            where n.nspname = 'accountctl'
            group by t.typname
        ) as everything
        """
}
