package import Postgres

extension AdoptionFacts {
    /// Reads the facts in a read-only transaction of its own.
    ///
    /// The transaction takes no lock that conflicts with writers. None of our objects need to exist. Besides the
    /// catalogs, it reads one row of `storage.buckets` and, if it exists, of `accountctl.settings`.
    ///
    /// - Throws: `PostgresError`, as for every statement.
    package static func read(on connection: isolated Connection) async throws -> AdoptionFacts {
        try await connection.transaction(readOnly: true) { connection in
            // With an empty search_path, expressions are always printed in the same form.
            try connection.execute("set local search_path = ''")
            var facts = try connection.one(catalogs, as: JSON<AdoptionFacts>.self).value
            let (hasBuckets, isFounded) = try connection.one(
                "select to_regclass('storage.buckets') is not null, to_regclass('accountctl.settings') is not null",
                as: (Bool, Bool).self
            )
            if hasBuckets {
                facts.hasBucket = try connection.one(
                    "select exists (select from storage.buckets where id = 'avatars' or name = 'avatars')",
                    as: Bool.self
                )
            }
            facts.isFounded = isFounded
            if isFounded {
                facts.origin = try connection.first(
                    "select value #>> '{}' from accountctl.settings where name = 'profiles.origin'",
                    as: String.self
                )
            }
            return facts
        }
    }

    private static let catalogs: Statement = """
        with policies as (
            select
                p.polrelid,
                jsonb_agg(
                    jsonb_build_object(
                        'rule', jsonb_strip_nulls(jsonb_build_object(
                            'name', p.polname,
                            'using', pg_get_expr(p.polqual, p.polrelid),
                            'check', pg_get_expr(p.polwithcheck, p.polrelid)
                        )),
                        'quotedName', quote_ident(p.polname),
                        'command', p.polcmd::text,
                        'isPublic', p.polpermissive and p.polroles = array[0::oid]
                    )
                    order by p.polname
                ) as list
            from pg_policy as p
            -- From version 17 on, an expression is printed only with its table open, which waits for whoever has it locked.
            where p.polrelid in (to_regclass('public.profiles'), to_regclass('storage.objects'))
            group by p.polrelid
        ),
        -- Triggers that fire for each row after a sign-up.
        sign_up as (
            select t.tgname, t.tgfoid
            from pg_trigger as t
            where t.tgrelid = to_regclass('auth.users')
              and not t.tgisinternal
              and t.tgtype & 1 = 1
              and t.tgtype & 2 = 0
              and t.tgtype & 4 = 4
              -- As the migration that adds ours tells: one that is enabled for replication only counts, too.
              and t.tgenabled <> 'D'
        ),
        user_keys as (
            select k.conrelid, k.conname, k.conkey, k.confkey, k.confrelid, k.confdeltype in ('a', 'r') as blocks
            from pg_constraint as k
            where k.contype = 'f'
              and k.conrelid = to_regclass('public.profiles')
              and k.confrelid = to_regclass('auth.users')
        ),
        profiles as (
            select jsonb_build_object(
                'isTable', c.relkind in ('r', 'p'),
                'isPartitioned', c.relkind = 'p',
                'owner', c.relowner::regrole::text,
                'isOurs', pg_has_role(c.relowner, 'usage'),
                'rowSecurity', c.relrowsecurity,
                'columns', (
                    select jsonb_agg(
                        jsonb_build_object(
                            'name', a.attname,
                            'type', format_type(a.atttypid, null),
                            'generated', a.attgenerated <> ''
                        )
                        order by a.attnum
                    )
                    from pg_attribute as a
                    where a.attrelid = c.oid
                      and a.attnum > 0
                      and not a.attisdropped
                ),
                'primaryKey', coalesce(
                    (
                        select jsonb_agg(a.attname order by key.position)
                        from pg_constraint as k
                        cross join unnest(k.conkey) with ordinality as key (number, position)
                        join pg_attribute as a on a.attrelid = c.oid and a.attnum = key.number
                        where k.conrelid = c.oid
                          and k.contype = 'p'
                    ),
                    '[]'
                ),
                'userKey', (
                    select jsonb_build_object('quotedName', quote_ident(k.conname), 'blocks', k.blocks)
                    from user_keys as k
                    join pg_attribute as a on a.attrelid = c.oid and a.attname = 'id'
                    join pg_attribute as f on f.attrelid = k.confrelid and f.attname = 'id'
                    where k.conkey = array[a.attnum]
                      and k.confkey = array[f.attnum]
                    order by k.blocks desc, k.conname
                    limit 1
                ),
                'isTied', exists (select from user_keys),
                'usernameIsUnique', exists (
                    select
                    from pg_index as i
                    join pg_attribute as a on a.attrelid = c.oid and a.attname = 'username'
                    where i.indrelid = c.oid
                      and i.indisunique
                      and i.indisvalid
                      and i.indpred is null
                      and i.indnkeyatts = 1
                      and i.indkey[0] = a.attnum
                ),
                'usernameHasRule', exists (
                    select
                    from pg_constraint as k
                    join pg_attribute as a on a.attrelid = c.oid and a.attname = 'username'
                    where k.conrelid = c.oid
                      and k.contype = 'c'
                      and a.attnum = any (k.conkey)
                ),
                'withheld', coalesce(
                    (
                        select jsonb_agg(needed.privilege order by needed.position)
                        from pg_roles as r
                        cross join unnest(array['select', 'insert', 'update'])
                            with ordinality as needed (privilege, position)
                        where r.rolname = 'authenticated'
                          and not has_table_privilege(r.oid, c.oid, needed.privilege)
                    ),
                    '[]'
                ),
                'policies', coalesce((select list from policies where polrelid = c.oid), '[]')
            ) as facts
            from pg_class as c
            where c.oid = to_regclass('public.profiles')
        )
        select jsonb_strip_nulls(jsonb_build_object(
            'takenFunctions', (
                select coalesce(jsonb_object_agg(taken.proname, taken.signatures), '{}')
                from (
                    select
                        p.proname,
                        jsonb_agg(
                            format('public.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid))
                            order by p.oid
                        ) as signatures
                    from pg_proc as p
                    join pg_namespace as n on n.oid = p.pronamespace
                    where n.nspname = 'public'
                    group by p.proname
                ) as taken
                where taken.proname in (
                    'request_account_deletion',
                    'cancel_account_deletion',
                    'account_deletion_status',
                    'submit_apple_authorization_code',
                    'report_apple_credential_state', 'receive_apple_notification'
                )
            ),
            'profiles', (select facts from profiles),
            'takenRelations', (
                select coalesce(jsonb_agg(format('public.%I', taken.name) order by taken.name), '[]')
                from (
                    select c.relname as name
                    from pg_class as c
                    join pg_namespace as n on n.oid = c.relnamespace
                    where n.nspname = 'public'
                      and c.relname in ('profiles_pkey', 'profiles_username_key')
                    union
                    select t.typname
                    from pg_type as t
                    join pg_namespace as n on n.oid = t.typnamespace
                    where n.nspname = 'public'
                      and t.typname = 'profiles'
                ) as taken
            ),
            'objectPolicies', coalesce(
                (select list from policies where polrelid = to_regclass('storage.objects')), '[]'
            ),
            'mayRuleObjects', coalesce(
                (
                    select
                        pg_has_role(c.relowner, 'usage')
                        or coalesce(
                            nullif(current_setting('supautils.policy_grants', true), '')::jsonb -> current_user
                                ? 'storage.objects',
                            false
                        )
                    from pg_class as c
                    where c.oid = to_regclass('storage.objects')
                ),
                true
            ),
            'signUpFunction', (
                select jsonb_build_object(
                    'digest',
                    encode(sha256(convert_to(btrim(regexp_replace(p.prosrc, '\\s+', ' ', 'g')), 'UTF8')), 'hex'),
                    'isReplaceable',
                    p.prosecdef and p.prorettype = 'trigger'::regtype and pg_has_role(p.proowner, 'usage'),
                    'trigger', (select quote_ident(min(tgname)) from sign_up where tgfoid = p.oid)
                )
                from pg_proc as p
                where p.oid = to_regprocedure('public.handle_new_user()')
            ),
            'signUpTrigger', (select quote_ident(min(tgname)) from sign_up),
            'hasBucket', false,
            'isFounded', false
        ))
        """
}
