-- What tells one hash key from another: whose it is to see.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

-- Whoever may see into the schema, and was granted nothing.
create role stranger;
grant usage on schema accountctl to stranger;
insert into accountctl.hash_key_canaries (key_id, canary) values ('k1', sha256('k1'));

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
select table_owner_is('accountctl', 'hash_key_canaries', 'postgres', 'the worker''s role owns hash_key_canaries');

select * from finish();
rollback;
