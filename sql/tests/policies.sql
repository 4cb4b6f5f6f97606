-- The exact sets of policies, grants and function rights: one more or one less fails here.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select policies_are(
    'public', 'profiles',
    array[
        'profiles_select', 'profiles_insert_own', 'profiles_update_own', 'profiles_insert_open', 'profiles_update_open'
    ]
);
select policies_are(
    'storage', 'objects',
    array[
        'avatars_select', 'avatars_insert_own', 'avatars_update_own', 'avatars_delete_own', 'avatars_insert_open',
        'avatars_update_open'
    ]
);
select policies_are('storage', 'buckets', array[]::name[]);
select policies_are('storage', 's3_multipart_uploads', array[]::name[]);
select policies_are('auth', 'users', array[]::name[]);

create temp table wanted (
    relation text, policy name, command text, permissive boolean, using_text text, check_text text
);
insert into wanted
values
    ('public.profiles', 'profiles_select', 'select', true, '(( SELECT auth.uid() AS uid) = id)', null),
    ('public.profiles', 'profiles_insert_own', 'insert', true, null, '(( SELECT auth.uid() AS uid) = id)'),
    (
        'public.profiles', 'profiles_update_own', 'update', true, '(( SELECT auth.uid() AS uid) = id)',
        '(( SELECT auth.uid() AS uid) = id)'
    ),
    (
        'public.profiles', 'profiles_insert_open', 'insert', false, null,
        '( SELECT accountctl.account_open() AS account_open)'
    ),
    (
        'public.profiles', 'profiles_update_open', 'update', false, null,
        '( SELECT accountctl.account_open() AS account_open)'
    ),
    (
        'storage.objects', 'avatars_select', 'select', true,
        '((bucket_id = ''avatars''::text) AND (owner_id = ( SELECT (auth.uid())::text AS uid)))', null
    ),
    (
        'storage.objects', 'avatars_insert_own', 'insert', true, null,
        '((bucket_id = ''avatars''::text) AND (owner_id = ( SELECT (auth.uid())::text AS uid)))'
    ),
    (
        'storage.objects', 'avatars_update_own', 'update', true,
        '((bucket_id = ''avatars''::text) AND (owner_id = ( SELECT (auth.uid())::text AS uid)))',
        '((bucket_id = ''avatars''::text) AND (owner_id = ( SELECT (auth.uid())::text AS uid)))'
    ),
    (
        'storage.objects', 'avatars_delete_own', 'delete', true,
        '((bucket_id = ''avatars''::text) AND (owner_id = ( SELECT (auth.uid())::text AS uid)))', null
    ),
    (
        'storage.objects', 'avatars_insert_open', 'insert', false, null,
        '((bucket_id IS DISTINCT FROM ''avatars''::text) OR ( SELECT accountctl.account_open() AS account_open))'
    ),
    (
        'storage.objects', 'avatars_update_open', 'update', false, null,
        '((bucket_id IS DISTINCT FROM ''avatars''::text) OR ( SELECT accountctl.account_open() AS account_open))'
    );

select policy_cmd_is(split_part(relation, '.', 1), split_part(relation, '.', 2), policy, command)
from wanted;
select policy_roles_are(
    split_part(relation, '.', 1), split_part(relation, '.', 2), policy, array['authenticated'::name]
)
from wanted;
select is(
    (
        select row(p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))::text
        from pg_policy as p
        where p.polrelid = w.relation::regclass
          and p.polname = w.policy
    ),
    row(w.permissive, w.using_text, w.check_text)::text,
    format('%s on %s says what it should', w.policy, w.relation)
)
from wanted as w;

-- Tables -------------------------------------------------------------------------------------------------------------

select table_privs_are('public', 'profiles', 'anon', array[]::text[]);
select table_privs_are('public', 'profiles', 'authenticated', array['SELECT', 'INSERT', 'UPDATE']);
select table_privs_are(
    'public', 'profiles', 'service_role',
    array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']
);
select table_privs_are('public', 'profiles', 'supabase_auth_admin', array[]::text[]);
select table_privs_are('public', 'profiles', 'accountctl_operator', array[]::text[]);
select columns_are(
    'public', 'profiles', array['id', 'updated_at', 'username', 'full_name', 'avatar_url', 'website']
);
select column_privs_are('public', 'profiles', a.attname, 'anon', array[]::text[])
from pg_attribute as a
where a.attrelid = 'public.profiles'::regclass and a.attnum > 0 and not a.attisdropped;
select column_privs_are('public', 'profiles', a.attname, 'authenticated', array['SELECT', 'INSERT', 'UPDATE'])
from pg_attribute as a
where a.attrelid = 'public.profiles'::regclass and a.attnum > 0 and not a.attisdropped;
select col_is_pk('public', 'profiles', 'id', 'a profile is keyed by its account');
select fk_ok('public', 'profiles', 'id', 'auth', 'users', 'id');
select is(
    (
        select string_agg(confdeltype::text || convalidated, ',')
        from pg_constraint
        where conrelid = 'public.profiles'::regclass and contype = 'f'
    ),
    'ctrue', 'the profile goes with the account'
);

-- The private schema: nobody but its owner reads or writes a table of it.
select schema_privs_are('accountctl', 'accountctl_operator', array['USAGE']);
select schema_privs_are('accountctl', role_name, array[]::text[])
from unnest(array['anon', 'authenticated', 'service_role', 'authenticator', 'supabase_auth_admin']) as role_name;
select is_empty(
    $$
        select c.relname, role_name
        from pg_class as c
        cross join unnest(array['anon', 'authenticated', 'service_role', 'accountctl_operator']) as role_name
        where c.relnamespace = 'accountctl'::regnamespace
          and c.relkind in ('r', 'p', 'v', 'm')
          and (
              has_table_privilege(role_name, c.oid, 'select, insert, update, delete, truncate')
              or has_any_column_privilege(role_name, c.oid, 'select, insert, update')
          )
    $$,
    'no table of accountctl is open to a role of the API or to operators'
);
select is_empty(
    $$
        select c.relname, role_name
        from pg_class as c
        cross join unnest(array['anon', 'authenticated', 'service_role', 'accountctl_operator']) as role_name
        where c.relnamespace = 'accountctl'::regnamespace
          and c.relkind = 'S'
          and has_sequence_privilege(role_name, c.oid, 'usage, select, update')
    $$,
    'no sequence of accountctl is open to a role of the API or to operators'
);

-- Functions ----------------------------------------------------------------------------------------------------------

select is_empty(
    $$
        select p.oid::regprocedure
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and exists (
              select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a where a.grantee = 0
          )
    $$,
    'no function of accountctl is PUBLIC''s: a migration that makes one takes EXECUTE away'
);
select is(
    array(
        select p.proname::text
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and has_function_privilege('authenticated', p.oid, 'execute')
        order by 1
    ),
    array[
        'account_deletion_status', 'account_open', 'cancel_account_deletion', 'report_apple_credential_state',
        'request_account_deletion', 'submit_apple_authorization_code'
    ],
    'what signed-in users may run in accountctl'
);
select is(
    array(
        select p.proname::text
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and has_function_privilege('anon', p.oid, 'execute')
        order by 1
    ),
    array['account_deletion_status'],
    'what anon may run in accountctl'
);
select is(
    array(
        select p.proname::text
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and has_function_privilege('service_role', p.oid, 'execute')
    ),
    array['receive_apple_notification'],
    'the service key runs nothing in accountctl but the inbox'
);
select is(
    array(
        select p.proname::text
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace
          and has_function_privilege('accountctl_operator', p.oid, 'execute')
        order by 1
    ),
    array['can_send', 'log_operation'],
    'what programs beside accountctl may run in accountctl'
);
select is_empty(
    $$
        select c.oid::regclass
        from pg_class as c
        join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname in ('auth', 'storage', 'public', 'accountctl')
          and c.relkind in ('r', 'p', 'v', 'm', 'f')
          and (
              has_table_privilege('accountctl_operator', c.oid, 'select, insert, update, delete, truncate, references, trigger')
              or has_any_column_privilege('accountctl_operator', c.oid, 'select, insert, update, references')
          )
    $$,
    'programs beside accountctl read and write no table'
);
select is(
    array(
        select n.nspname::text
        from pg_namespace as n
        where n.nspname in ('auth', 'storage', 'accountctl')
          and has_schema_privilege('accountctl_operator', n.oid, 'usage, create')
    ),
    array['accountctl'],
    'programs beside accountctl may look into accountctl alone'
);
select is(
    (
        select row(rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb)::text
        from pg_roles
        where rolname = 'accountctl_operator'
    ),
    '(f,f,f,f,f)', 'accountctl_operator signs in nowhere and has no power of its own'
);
select function_privs_are('public', 'handle_new_user', array[]::text[], role_name, array[]::text[])
from unnest(array['anon', 'authenticated']) as role_name;
select is_definer('public', 'handle_new_user', array[]::text[]);
select is_definer('accountctl', 'fill_profile_name', array[]::text[]);
select is_definer('accountctl', 'account_open', array[]::text[]);

select triggers_are('auth', 'users', array['on_auth_user_created', 'accountctl_profile_name']);
select triggers_are('storage', 'objects', array['protect_objects_delete', 'update_objects_updated_at']);

select * from finish();
rollback;
