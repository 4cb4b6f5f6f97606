import Postgres

extension CatalogSnapshot {
    /// The objects of the snapshot, one row each.
    ///
    /// It covers everything in the private schema except partitions, which runs create and drop, and the public objects
    /// that others rely on: the functions that the app calls, our sign-up function, row-level security, policies and
    /// grants of profiles, policies that mention avatars, and triggers that call our functions. Columns that an app
    /// adds to its profiles are left out. Rules and default privileges are included because no migration creates any,
    /// so somebody else did.
    static let objects: Statement = """
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
                   || coalesce(' grants ' || acl.text, '')
            from pg_attribute as a
            join pg_class as c on c.oid = a.attrelid
            join pg_namespace as n on n.oid = c.relnamespace
            left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
            left join lateral (
                select string_agg(g::text, ' ' order by g::text) as text from unnest(a.attacl) as g
            ) as acl on true
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
              -- Recorded with the column, since NOT NULL is a constraint only from PostgreSQL 18 on.
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
                  -- Migration 0059 marks our function by this comment, which survives when somebody replaces it.
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
            select 'rule ' || quote_ident(r.rulename) || ' on ' || r.ev_class::regclass::text,
                   pg_get_ruledef(r.oid) || ' enabled ' || r.ev_enabled::text
            from pg_rewrite as r
            join pg_class as c on c.oid = r.ev_class
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname = 'accountctl'
              -- Every view has this rule.
              and r.rulename <> '_RETURN'

            union all
            -- They apply to each day's new partition of the history.
            select 'default privileges of ' || pg_get_userbyid(d.defaclrole) || ' in ' || n.nspname || ' on '
                   || d.defaclobjtype::text,
                   (select string_agg(a::text, ' ' order by a::text) from unnest(d.defaclacl) as a)
            from pg_default_acl as d
            join pg_namespace as n on n.oid = d.defaclnamespace
            where n.nspname = 'accountctl'

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
