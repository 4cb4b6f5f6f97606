-- public.profiles: role x verb x own or foreign row. Denied reads and updates touch no row and are no error; denied inserts
-- and rows moved to somebody else are 42501.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna', '{"full_name": "Anna Ahlers"}');
select sign_up('Bert', '{"full_name": "Bert Brandt"}');
select sign_up('Cleo', '{"full_name": "Cleo Conrad"}');
select sign_up('Dora', '{"full_name": "Dora Dahl"}');
select sign_up('Guest', '{}', true);
update public.profiles set username = 'anna' where id = id('Anna');
update public.profiles set username = 'bert' where id = id('Bert');
update auth.users set banned_until = now() + interval '10 years' where id = id('Cleo');
update auth.users set deleted_at = now() where id = id('Dora');
-- An account that was deleted: nothing of it is left but a token.
select sign_up('Gone', '{}');
delete from auth.users where id = id('Gone');
-- Two accounts without a row, to try inserts.
select sign_up('Eve', '{}');
select sign_up('Finn', '{}');
delete from public.profiles where id in (id('Eve'), id('Finn'));

create temp table before as select * from public.profiles;
select is((select count(*) from before), 5::bigint, 'the rows that the matrix is about are there');

create temp table matrix (who text, role_name text, claims jsonb, verb text, what text, statement text, expected text);
insert into matrix
select
    who.name, who.role_name, who.claims, act.verb, act.target,
    format(act.statement, id(act.target), id('Finn')),
    case act.verb
        when 'select' then
            case
                when who.name = 'service_role' then '1 rows'
                when who.role_name = 'anon' then '42501'
                when who.name = act.target then '1 rows'
                else '0 rows'
            end
        when 'update' then
            case
                when who.name = 'service_role' then '1 rows'
                when who.role_name = 'anon' then '42501'
                when who.name <> act.target then '0 rows'
                when who.name in ('Cleo', 'Dora') then '42501'
                else '1 rows'
            end
        when 'move' then
            case
                when who.name = 'service_role' then '1 rows'
                when who.role_name = 'anon' then '42501'
                when who.name <> act.target then '0 rows'
                else '42501'
            end
        when 'delete' then case when who.name = 'service_role' then '1 rows' else '42501' end
        when 'truncate' then case when who.name = 'service_role' then '0 rows' else '42501' end
    end
from (
    values
        ('anon', 'anon', null::jsonb),
        ('anon with claims', 'anon', '{"role": "anon"}'),
        ('Anna', 'authenticated', token('Anna')),
        ('Bert', 'authenticated', token('Bert')),
        ('Cleo', 'authenticated', token('Cleo')),
        ('Dora', 'authenticated', token('Dora')),
        ('Gone', 'authenticated', token('Gone')),
        ('Guest', 'authenticated', token('Guest', '{"is_anonymous": true, "email": ""}')),
        ('service_role', 'service_role', '{"role": "service_role"}')
) as who (name, role_name, claims)
cross join (
    values
        ('select', 'select full_name from public.profiles where id = %1$L'),
        ('update', 'update public.profiles set full_name = ''Changed'' where id = %1$L'),
        ('move', 'update public.profiles set id = %2$L where id = %1$L'),
        ('delete', 'delete from public.profiles where id = %1$L'),
        ('truncate', 'truncate public.profiles')
) as verbs (verb, statement)
cross join lateral (
    select verbs.verb, verbs.statement, target.name as target
    from (values ('Anna'), ('Bert'), ('Cleo'), ('Dora'), ('Guest')) as target (name)
) as act;

-- Inserts: for oneself, for somebody else, and for the account that is locked out or gone.
insert into matrix
select
    who.name, who.role_name, who.claims, 'insert', target.name,
    format('insert into public.profiles (id, full_name) values (%L, ''New'')', id(target.name)),
    case
        when who.name = 'service_role' then '1 rows'
        when who.name = target.name then '1 rows'
        else '42501'
    end
from (
    values
        ('anon', 'anon', null::jsonb),
        ('Anna', 'authenticated', token('Anna')),
        ('Eve', 'authenticated', token('Eve')),
        ('Cleo', 'authenticated', token('Cleo')),
        ('Gone', 'authenticated', token('Gone')),
        ('service_role', 'service_role', '{"role": "service_role"}')
) as who (name, role_name, claims)
cross join (values ('Eve'), ('Finn')) as target (name);
insert into matrix
values
    (
        'Gone', 'authenticated', token('Gone'), 'insert', 'Gone',
        format('insert into public.profiles (id) values (%L)', id('Gone')), '42501'
    ),
    (
        'Anna', 'authenticated', token('Anna'), 'upsert', 'Anna',
        format(
            'insert into public.profiles (id, full_name) values (%L, ''A'') '
            'on conflict (id) do update set full_name = excluded.full_name', id('Anna')
        ), '1 rows'
    ),
    (
        'Bert', 'authenticated', token('Bert'), 'upsert', 'Anna',
        format(
            'insert into public.profiles (id, full_name) values (%L, ''B'') '
            'on conflict (id) do update set full_name = excluded.full_name', id('Anna')
        ), '42501'
    ),
    (
        'Cleo', 'authenticated', token('Cleo'), 'upsert', 'Cleo',
        format(
            'insert into public.profiles (id, full_name) values (%L, ''C'') '
            'on conflict (id) do update set full_name = excluded.full_name', id('Cleo')
        ), '42501'
    ),
    ('anon', 'anon', null, 'select', 'all', 'select * from public.profiles', '42501'),
    ('Anna', 'authenticated', token('Anna'), 'select', 'all', 'select * from public.profiles', '1 rows'),
    -- Statements that read no column: the policy for reading has no say in them.
    ('Anna', 'authenticated', token('Anna'), 'update', 'all', 'update public.profiles set website = ''x''', '1 rows'),
    (
        'Anna', 'authenticated', token('Anna'), 'move', 'blindly',
        format('update public.profiles set id = %L', id('Finn')), '42501'
    ),
    ('Gone', 'authenticated', token('Gone'), 'update', 'all', 'update public.profiles set website = ''x''', '0 rows'),
    ('Cleo', 'authenticated', token('Cleo'), 'update', 'all', 'update public.profiles set website = ''x''', '42501'),
    (
        'Anna', 'authenticated', token('Anna'), 'returning', 'Anna',
        format('update public.profiles set website = ''x'' where id = %L returning *', id('Anna')), '1 rows'
    ),
    ('nobody', 'authenticated', null, 'select', 'all', 'select * from public.profiles', '0 rows'),
    ('nobody', 'authenticated', '{}', 'update', 'all', 'update public.profiles set website = ''x''', '0 rows'),
    (
        'nobody', 'authenticated', '{"sub": null}', 'insert', 'Eve',
        format('insert into public.profiles (id) values (%L)', id('Eve')), '42501'
    ),
    (
        'a sub that is no uuid', 'authenticated', '{"sub": "anna"}', 'select', 'all', 'select * from public.profiles',
        '22P02'
    ),
    ('an empty sub', 'authenticated', '{"sub": ""}', 'select', 'all', 'select * from public.profiles', '22P02'),
    (
        'a sub in capitals', 'authenticated', jsonb_build_object('sub', upper(id('Anna')::text)), 'select', 'all',
        'select * from public.profiles', '1 rows'
    ),
    -- PostgREST refuses an expired token before it comes here; for the database the account alone decides.
    (
        'Cleo, expired', 'authenticated', token('Cleo', '{"exp": 1}'), 'update', 'Cleo',
        format('update public.profiles set website = ''x'' where id = %L', id('Cleo')), '42501'
    ),
    (
        'Anna with rights she gave herself', 'authenticated',
        token('Anna', '{"user_metadata": {"role": "service_role"}, "app_metadata": {"role": "admin"}}'),
        'select', 'all', 'select * from public.profiles', '1 rows'
    );

select is(
    probe(role_name, claims, statement), expected,
    format('%s may %s %s: %s', who, verb, what, expected)
)
from matrix
order by who, verb, what;

select results_eq(
    'select * from public.profiles order by id', 'select * from before order by id', 'no row has changed'
);

-- A ban that is over, and an account that comes back.
update auth.users set banned_until = now() - interval '1 second' where id = id('Cleo');
select is(
    probe('authenticated', token('Cleo'), format('update public.profiles set website = ''x'' where id = %L', id('Cleo'))),
    '1 rows', 'a ban that is over binds nobody'
);

select * from finish();
rollback;
