-- What tells one hash key from another: whose it is to see, and what it can hold.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

-- Whoever may see into the schema, and was granted nothing.
create role stranger;
grant usage on schema accountctl to stranger;
insert into accountctl.hash_key_canaries (key_id, canary) values ('k1', sha256('k1'));

-- Rights ---------------------------------------------------------------------------------------------------------------

select is(probe(role_name, null, statement), '42501', role_name || ': ' || statement)
from unnest(array['stranger', 'accountctl_operator', 'anon', 'authenticated', 'service_role']) as role_name,
(
    values
        ('select from accountctl.hash_key_canaries'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''k2'', sha256(''k2''))'),
        ('update accountctl.hash_key_canaries set canary = sha256(''other'')'),
        ('delete from accountctl.hash_key_canaries'),
        ('truncate accountctl.hash_key_canaries')
) as act (statement);
select is(
    (select relacl::text from pg_class where oid = 'accountctl.hash_key_canaries'::regclass), null,
    'nobody but the owner was granted anything'
);
select table_owner_is('accountctl', 'hash_key_canaries', 'postgres', 'the worker''s role owns it');

-- Constraints ----------------------------------------------------------------------------------------------------------

select is(probe('postgres', null, statement), expected, statement)
from (
    values
        ('select from accountctl.hash_key_canaries', '1 rows'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''2026-11_B'', sha256(''x''))', '1 rows'),
        (
            'insert into accountctl.hash_key_canaries (key_id, canary) values (repeat(''k'', 32), sha256(''x''))',
            '1 rows'
        ),
        -- The first of a name stays: a second key under it is another one, or the same.
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''k1'', sha256(''other''))', '23505'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (null, sha256(''x''))', '23502'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values ('''', sha256(''x''))', '23514'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''a b'', sha256(''x''))', '23514'),
        (
            'insert into accountctl.hash_key_canaries (key_id, canary) values (repeat(''k'', 33), sha256(''x''))',
            '23514'
        ),
        ('insert into accountctl.hash_key_canaries (key_id) values (''k2'')', '23502'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''k2'', ''\x00'')', '23514'),
        ('insert into accountctl.hash_key_canaries (key_id, canary) values (''k2'', sha512(''x''))', '23514'),
        (
            'insert into accountctl.hash_key_canaries (key_id, canary, created_at) values (''k2'', sha256(''x''), null)',
            '23502'
        )
) as act (statement, expected);

select * from finish();
rollback;
