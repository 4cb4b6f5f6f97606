-- The stand-in has the platform's limits: what `postgres` may not do here it may not do there.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select is(
    (
        select row(rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin)::text
        from pg_roles where rolname = 'postgres'
    ),
    '(f,t,t,t,t,t)', 'postgres is no superuser, and bypasses row-level security'
);
select is((select rolbypassrls from pg_roles where rolname = 'service_role'), true, 'service_role bypasses row-level security, too');
select is(
    (select count(*) from pg_roles where rolbypassrls and rolname in ('anon', 'authenticated', 'authenticator')),
    0::bigint, 'the other roles of the API do not bypass row-level security'
);
select is_empty(
    $$
        select c.oid::regclass
        from pg_class as c
        where c.relnamespace in ('auth'::regnamespace, 'storage'::regnamespace)
          and pg_has_role('postgres', c.relowner, 'member')
    $$,
    'postgres owns nothing in auth and storage'
);
select is_member_of('authenticated', array['postgres', 'authenticator']::name[]);
select is(
    (
        select count(*)
        from pg_auth_members as m
        where m.member = 'postgres'::regrole and m.roleid in ('supabase_auth_admin'::regrole, 'supabase_storage_admin'::regrole)
    ),
    0::bigint, 'postgres is no member of the owners of auth and storage'
);

select is(probe('postgres', null, statement), expected, 'postgres: ' || statement)
from (
    values
        ('select from auth.users', '0 rows'),
        ('delete from auth.users', '0 rows'),
        ('create index on auth.users (created_at)', '42501'),
        ('alter table auth.users add column x int', '42501'),
        ('create policy x on auth.users using (true)', '42501'),
        ('create policy x on storage.objects using (true)', '42501'),
        ('create table auth.mine (id int)', '42501'),
        ('create function storage.mine() returns int language sql as ''select 1''', '42501'),
        ('insert into auth.schema_migrations values (''1'')', '42501'),
        ('insert into storage.migrations values (1, ''x'', ''y'')', '42501'),
        -- From 16 on whoever has the attribute and ADMIN on the role may; the platform forbids it by an extension of its own.
        (
            'alter role anon bypassrls',
            case when current_setting('server_version_num')::int < 160000 then '42501' else '0 rows' end
        ),
        ('drop trigger protect_objects_delete on storage.objects', '42501'),
        ('delete from storage.objects', '42501'),
        ('create trigger t after insert on auth.users for each row execute function tests.probe()', '42883'),
        ('drop trigger on_auth_user_created on auth.users', '42501'),
        ('create schema mine', '0 rows')
) as act (statement, expected);

select ok(pg_has_role('postgres', role_name, 'member'), 'postgres may become ' || role_name)
from unnest(array['anon', 'authenticated', 'service_role']) as role_name;
select ok(not pg_has_role('postgres', role_name, 'member'), 'postgres may not become ' || role_name)
from unnest(array['supabase_admin', 'supabase_auth_admin', 'supabase_storage_admin', 'authenticator']) as role_name;

-- auth.uid() and its kin.
select is(answer('authenticated', token('Anna'), 'select auth.uid()'), id('Anna')::text, 'auth.uid() is the token''s sub');
select is(answer('authenticated', token('Anna'), 'select auth.role()'), 'authenticated', 'auth.role()');
select is(answer('authenticated', token('Anna'), 'select auth.email()'), 'anna@example.com', 'auth.email()');
select is(answer('authenticated', token('Anna'), 'select auth.jwt() ->> ''aud'''), 'authenticated', 'auth.jwt()');
select is(answer('authenticated', null, 'select auth.uid()'), null, 'auth.uid() is null outside a request');
select is(answer('authenticated', token('Anna'), 'select count(*) from auth.users'), '42501', 'auth.users is closed');

-- storage's helpers
select is(storage.foldername('a/b/c.txt'), array['a', 'b'], 'foldername');
select is(storage.filename('a/b/c.txt'), 'c.txt', 'filename');
select is(storage.extension('a/b.x/c.tar.gz'), 'gz', 'extension');
select is(storage.extension('plain'), 'plain', 'extension of a name without one, as the platform has it');
select set_config('storage.operation', 'storage.object.list', true);
select ok(storage.allow_only_operation('object.list'), 'an operation by its short name');
select ok(
    storage.allow_any_operation(array['storage.object.get', 'storage.object.list']),
    'an operation by its long name'
);
select ok(not storage.allow_any_operation(array['object.get', '', null]), 'an operation that is not in the list');

select * from finish();
rollback;
