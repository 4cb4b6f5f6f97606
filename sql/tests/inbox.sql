-- Apple's notifications where no listener runs: who may hand them in, what is stored, and how much.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

-- Rights ---------------------------------------------------------------------------------------------------------------

create function pg_temp.hand_in(role_name text, payload text) returns text language sql as $$
    select answer(role_name, null, format('select public.receive_apple_notification(%L)', payload))
$$;
select is(pg_temp.hand_in(role_name, 'p'), expected, role_name || ' hands in a notification')
from (
    values
        ('service_role', 'true'), ('anon', '42501'), ('authenticated', '42501'), ('accountctl_operator', '42501'),
        ('supabase_auth_admin', '42501')
) as caller (role_name, expected);
select is(
    array(
        select grantee::regrole::text
        from pg_proc as p
        cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))
        where p.oid = function::regprocedure
          and grantee <> p.proowner
    ),
    array['service_role'], function || ' is granted to the service key alone'
)
from unnest(
    array['public.receive_apple_notification(text)', 'accountctl.receive_apple_notification(text)']
) as function;
select ok(
    not p.prosecdef and p.proconfig = array['search_path=""'] and p.provolatile = 'v' and p.proowner = 'postgres'::regrole,
    'the function of the API has the rights of its caller and a fixed search_path, and is not called by GET'
)
from pg_proc as p
where p.oid = 'public.receive_apple_notification(text)'::regprocedure;

-- What is stored -------------------------------------------------------------------------------------------------------

select act('service_role', null, 'select public.receive_apple_notification(''a "b"'')');
select results_eq(
    'select body, digest, tries from accountctl.apple_inbox',
    $$ values ('{"payload": "a \"b\""}', sha256('{"payload": "a \\"b\\""}'), 0) $$,
    'the body is the one that Apple would send to a listener'
);
select is(pg_temp.hand_in('service_role', 'a "b"'), 'false', 'false tells that a body is there already');
select is((select count(*) from accountctl.apple_inbox), 1::bigint, 'a body that came three times is stored once');

-- How much -------------------------------------------------------------------------------------------------------------

select is(probe('postgres', null, format('select accountctl.receive_apple_notification(%s)', body)), expected, 'a body of ' || body)
from (
    values
        ('null', '22023'),
        ('''''', '22023'),
        ('''x''', '1 rows'),
        ('repeat(''x'', 32768)', '1 rows'),
        ('repeat(''x'', 32769)', '22023'),
        ('repeat(''é'', 16384)', '1 rows'),
        ('repeat(''é'', 16385)', '22023')
) as bound (body, expected);
insert into accountctl.apple_inbox (digest, body)
select sha256(convert_to(n::text, 'UTF8')), n
from generate_series(2, 999) as n;
select is(pg_temp.hand_in('service_role', 'the last'), 'true', 'the thousandth finds room');
select act('service_role', null, 'select public.receive_apple_notification(''the last'')');
select is(pg_temp.hand_in('service_role', 'one more'), '53400', 'the one after the thousandth is refused');

-- A worker has looked at them, and could not judge them: Apple's keys, the clock or the database may be the reason.
update accountctl.apple_inbox set tries = 9;
select is(pg_temp.hand_in('service_role', 'one more'), '53400', 'what may be Apple''s own makes no room');

-- Three of them name keys that are not Apple's.
update accountctl.apple_inbox set may_yield = true where body in ('2', '3', '4');
update accountctl.apple_inbox set tries = 10 where body in ('3', '4');
select is(pg_temp.hand_in('service_role', 'the last'), 'false', 'what is there already needs no room');
select act('service_role', null, 'select public.receive_apple_notification(''the last'')');
select is((select count(*) from accountctl.apple_inbox where may_yield), 3::bigint, 'and displaces nothing');
select is(pg_temp.hand_in('service_role', 'one more'), 'true', 'a full inbox makes room by what names a key that is not Apple''s');
select act('service_role', null, 'select public.receive_apple_notification(''one more'')');
select set_eq(
    'select body from accountctl.apple_inbox where may_yield', array['2', '4'], 'it is the oldest that was looked at most often'
);
select is((select count(*) from accountctl.apple_inbox), 1000::bigint, 'the inbox holds a thousand still');

select * from finish();
rollback;
