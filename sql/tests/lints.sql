-- What the platform's advisor would say of our objects. The checks that bear on them, made anew: each query lists offenders,
-- and each is shown to find one.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

create temp table lint (name text, query text);
insert into lint
values
    (
        'a function without a fixed search_path',
        $$
            select p.oid::regprocedure::text
            from pg_proc as p
            where (p.pronamespace = 'accountctl'::regnamespace or p.pronamespace = 'public'::regnamespace)
              and not exists (select from unnest(p.proconfig) as setting where setting like 'search_path=%')
              -- It has to be taken apart where it is asked, which a path of its own forbids.
              and p.oid <> 'accountctl.find_relay_accounts()'::regprocedure
              and not exists (select from pg_depend as d where d.objid = p.oid and d.deptype = 'e')
        $$
    ),
    (
        -- Of ours the others, too: a definer function may call them. One whose body is kept parsed has found its types.
        'a function that looks for types in pg_temp first with its owner''s rights',
        $$
            select p.oid::regprocedure::text
            from pg_proc as p
            where p.pronamespace in ('accountctl'::regnamespace, 'public'::regnamespace)
              and (p.prosecdef or p.pronamespace = 'accountctl'::regnamespace and p.prosqlbody is null)
              and p.oid <> 'accountctl.find_relay_accounts()'::regprocedure
              and not exists (
                  select from unnest(p.proconfig) as setting where setting ~ '^search_path=.*, pg_temp$'
              )
              and not exists (select from pg_depend as d where d.objid = p.oid and d.deptype = 'e')
        $$
    ),
    (
        'a definer function that the API''s roles can call by name',
        $$
            select p.oid::regprocedure::text
            from pg_proc as p
            where p.prosecdef
              and p.pronamespace in (select oid from pg_namespace where has_schema_privilege('authenticated', oid, 'usage'))
              and p.pronamespace not in ('pg_catalog'::regnamespace, 'tap'::regnamespace)
              and (
                  has_function_privilege('anon', p.oid, 'execute')
                  or has_function_privilege('authenticated', p.oid, 'execute')
              )
        $$
    ),
    (
        'an exposed table without row-level security',
        $$
            select c.oid::regclass::text
            from pg_class as c
            where c.relnamespace in ('public'::regnamespace, 'storage'::regnamespace)
              and c.relkind in ('r', 'p')
              and not c.relrowsecurity
        $$
    ),
    (
        'policies on a table whose row-level security is off',
        $$
            select distinct p.polrelid::regclass::text
            from pg_policy as p
            join pg_class as c on c.oid = p.polrelid
            where not c.relrowsecurity
        $$
    ),
    (
        'a policy that asks auth or settings once per row',
        $$
            select p.polname || ' on ' || p.polrelid::regclass
            from pg_policy as p
            cross join lateral (
                values (pg_get_expr(p.polqual, p.polrelid)), (pg_get_expr(p.polwithcheck, p.polrelid))
            ) as rule (text)
            where regexp_replace(
                rule.text,
                '\( SELECT \(?(auth\.(uid|jwt|role|email)|accountctl\.account_open|current_setting)\([^()]*\)', '', 'gi'
            ) ~* '(auth\.(uid|jwt|role|email)|accountctl\.account_open|current_setting)\('
        $$
    ),
    (
        'a policy without a TO clause',
        $$
            select p.polname || ' on ' || p.polrelid::regclass
            from pg_policy as p
            where 0::oid = any (p.polroles)
        $$
    ),
    (
        'a policy that trusts what users write about themselves',
        $$
            select p.polname || ' on ' || p.polrelid::regclass
            from pg_policy as p
            where concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) like '%user_metadata%'
        $$
    ),
    (
        'several permissive policies for one role and command',
        $$
            select p.polrelid::regclass || ' ' || p.polcmd::text || ' ' || role::regrole
            from pg_policy as p
            cross join unnest(p.polroles) as role
            where p.polpermissive
            group by p.polrelid, p.polcmd, role
            having count(*) > 1
        $$
    ),
    (
        'a write that is always allowed',
        $$
            select p.polname || ' on ' || p.polrelid::regclass
            from pg_policy as p
            where p.polpermissive
              and p.polcmd <> 'r'
              and 'true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
        $$
    ),
    (
        'a view that reads with its owner''s rights',
        $$
            select c.oid::regclass::text
            from pg_class as c
            where c.relnamespace = 'public'::regnamespace
              and c.relkind = 'v'
              and not 'security_invoker=true' = any (coalesce(c.reloptions, '{}'))
              and not 'security_invoker=on' = any (coalesce(c.reloptions, '{}'))
              and not exists (select from pg_depend as d where d.objid = c.oid and d.deptype = 'e')
        $$
    ),
    (
        -- Their migrations run when the platform is upgraded, and the auth server does not start when one of them fails.
        'a view or function that keeps the auth server or Storage from changing a column',
        $$
            select distinct pg_describe_object(d.classid, d.objid, 0) || ' on ' || pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
            from pg_depend as d
            join pg_class as c on c.oid = d.refobjid
            where d.refclassid = 'pg_class'::regclass
              and d.refobjsubid > 0
              and c.relnamespace in ('auth'::regnamespace, 'storage'::regnamespace)
              and d.classid in ('pg_rewrite'::regclass, 'pg_proc'::regclass)
        $$
    ),
    (
        'a foreign key without an index',
        $$
            select k.conrelid::regclass || ' ' || k.conname
            from pg_constraint as k
            where k.contype = 'f'
              and k.connamespace in ('public'::regnamespace, 'accountctl'::regnamespace)
              and k.conparentid = 0
              and not exists (
                  select
                  from pg_index as i
                  where i.indrelid = k.conrelid
                    and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey
              )
        $$
    ),
    (
        'a table without a primary key',
        $$
            select c.oid::regclass::text
            from pg_class as c
            where c.relnamespace in ('public'::regnamespace, 'accountctl'::regnamespace)
              and c.relkind in ('r', 'p')
              -- The history's days tell their rows apart by all that stands in them; in what is only their roof there are none.
              and not (c.relname like 'job\_history%' and (c.relkind = 'p' or c.relreplident = 'f'))
              and not exists (select from pg_constraint as k where k.conrelid = c.oid and k.contype = 'p')
        $$
    ),
    (
        'two indexes that say the same',
        $$
            select string_agg(i.indexrelid::regclass::text, ', ')
            from pg_index as i
            join pg_class as c on c.oid = i.indrelid
            where c.relnamespace in ('public'::regnamespace, 'accountctl'::regnamespace)
            group by i.indrelid, i.indkey, i.indclass, i.indcollation, i.indoption,
                coalesce(pg_get_expr(i.indpred, i.indrelid), ''), coalesce(pg_get_expr(i.indexprs, i.indrelid), '')
            having count(*) > 1
        $$
    ),
    (
        'an extension in public',
        $$
            select e.extname::text from pg_extension as e where e.extnamespace = 'public'::regnamespace
        $$
    ),
    (
        'a public bucket that lists',
        $$
            select b.id from storage.buckets as b where b.public
        $$
    ),
    (
        'a table or column of accountctl without a comment',
        $$
            select c.oid::regclass::text
            from pg_class as c
            where c.relnamespace in ('public'::regnamespace, 'accountctl'::regnamespace)
              and c.relkind in ('r', 'p')
              and not c.relispartition
              and obj_description(c.oid, 'pg_class') is null
        $$
    );

select is_empty(query, name) from lint;

select lives_ok(
    $$
        set local role supabase_auth_admin;
        alter table auth.users
            alter column email type text,
            alter column banned_until type timestamptz(3);
        reset role
    $$,
    'the auth server may change its columns'
);

-- No function of ours has met these types before: names are looked for once.
select sign_up('Anna');
create function pg_temp.met(value pg_catalog.timestamptz) returns boolean language plpgsql as $$
    begin
        raise exception 'runs as %', current_user using errcode = 'TP001';
    end
$$;
create domain pg_temp.timestamptz as pg_catalog.timestamptz check (pg_temp.met(value));
select is(
    probe('authenticated', token('Anna'), format('select public.%s', call)), '1 rows', call || ' takes no type from its caller'
)
from unnest(array['submit_apple_authorization_code(''c0de'')', 'request_account_deletion()']) as call;
drop domain pg_temp.timestamptz;

-- Each can fail.
create function public.careless() returns void language sql security definer as 'select';
create table public.careless (a uuid references public.profiles (id));
create index careless_b on public.careless ((a::text));
create index careless_c on public.careless ((a::text));
create policy anything on public.careless for update using (auth.uid() = a and true);
create policy more on public.careless using (auth.jwt() -> 'user_metadata' is not null);
create policy most on public.careless using (true);
create view public.careless_view as select * from public.careless;
create view public.careless_accounts with (security_invoker = true) as select id from auth.users;
create extension citext schema public;
insert into storage.buckets (id, name, public) values ('careless', 'careless', true);
select isnt_empty(query, 'finds an offender: ' || name) from lint;

select * from finish();
rollback;
