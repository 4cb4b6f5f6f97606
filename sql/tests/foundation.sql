-- What 0001 lays down: the role of programs beside ours, the log that only grows, who is an open account.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select is(probe('accountctl_operator', null, statement), expected, 'a program beside ours: ' || statement)
from (
    values
        ('select accountctl.log_operation(''kim'', ''user.show'')', '1 rows'),
        (
            'select accountctl.log_operation(''kim'', ''user.show'', ''k1'', sha256(''x''), ''a ticket'', ''{"request": 1}'')',
            '1 rows'
        ),
        ('insert into accountctl.operator_log (operator, action) values (''kim'', ''user.show'')', '42501'),
        ('select from accountctl.operator_log', '42501'),
        ('select from accountctl.settings', '42501'),
        ('select from auth.users', '42501'),
        ('create table accountctl.mine (id int)', '42501')
) as act (statement, expected);

select act('postgres', null, 'select accountctl.log_operation(''kim'', ''user.show'')');
select is(probe('postgres', null, statement), '42501', 'the owner of the log may not: ' || statement)
from (
    values
        ('update accountctl.operator_log set reason = ''x'''),
        ('delete from accountctl.operator_log'),
        ('truncate accountctl.operator_log')
) as act (statement);
-- Whoever may set this switches ordinary triggers off, and an operator of a hosted project may.
set local session_replication_role = replica;
select is(probe('postgres', null, statement), '42501', 'the owner of the log may not as a replica either: ' || statement)
from (
    values
        ('update accountctl.operator_log set reason = ''x'''),
        ('delete from accountctl.operator_log'),
        ('truncate accountctl.operator_log')
) as act (statement);
set local session_replication_role = origin;
select is(
    (select row(operator, action, subject_hash, facts)::text from accountctl.operator_log), '(kim,user.show,,{})',
    'the row of the log is as it was written'
);

savepoint whole;
select accountctl.log_operation(
    'kim', 'user.show', 'k1', sha256('x'), 'asked', '{"request": 1}', 'T-1', 'kim@laptop'
);
select is(
    (
        select row(operator, action, subject_key, subject_hash, reason, facts, ticket, machine_user)::text
        from accountctl.operator_log
        where ticket is not null
    ),
    row('kim', 'user.show', 'k1', sha256('x'), 'asked', '{"request": 1}'::jsonb, 'T-1', 'kim@laptop')::text,
    'each thing that is said of an act has its own column'
);
select accountctl.log_operation('kim', 'no.facts', facts => null);
select is(
    (select facts from accountctl.operator_log where action = 'no.facts'), '{}',
    'null facts are stored as an empty object'
);
rollback to savepoint whole;

-- The tables with a column that refers to another table, each with what a delete there does here.
create function pg_temp.referring(column_name name, target regclass) returns text[] language sql as $$
    select array_agg(concat_ws(' ', c.relname, k.confdeltype) order by c.relname)
    from pg_class as c
    join pg_attribute as a on a.attrelid = c.oid and a.attname = column_name
    left join pg_constraint as k
        on k.conrelid = c.oid
        and k.contype = 'f'
        and k.confrelid = target
        and k.conkey = array[a.attnum]
    where c.relnamespace = 'accountctl'::regnamespace
      and c.relkind in ('r', 'p')
$$;

-- What belongs to an account goes with it. A hold keeps it, and its deletion outlives it.
select is(
    pg_temp.referring('user_id', 'auth.users'),
    array[
        'apple_credentials c', 'apple_identity_marks c', 'apple_transfers c', 'authorization_codes c', 'credential_events c',
        'deletion_requests', 'holds r', 'lost_grants c', 'relay_addresses c'
    ],
    'the tables that name an account, and what its deletion does there'
);

-- A request that has a receipt, or of which Apple is still asked, cannot be removed.
select is(
    pg_temp.referring('request_id', 'accountctl.deletion_requests'),
    array['deletion_receipts a', 'deletion_status_tokens c', 'deletion_steps c', 'pending_revocations a'],
    'the tables that name a request, and what its removal does there'
);

-- Open accounts.
select sign_up('Anna');
select sign_up('Bert');
select sign_up('Cleo');
select sign_up('Dora');
update auth.users set banned_until = 'infinity' where id = id('Bert');
update auth.users set deleted_at = now() where id = id('Cleo');
update auth.users set banned_until = now() where id = id('Dora');
create temp table own as select id from auth.users;
grant select on own to authenticated;
-- As a policy asks: the role has no right to look into the schema itself.
alter table own enable row level security;
create policy open on own using ((select accountctl.account_open()));
select is(probe('authenticated', claims, 'select from own'), expected, 'account_open: ' || who)
from (
    values
        ('an account', token('Anna'), '4 rows'),
        ('a banned one', token('Bert'), '0 rows'),
        ('a soft-deleted one', token('Cleo'), '0 rows'),
        ('one whose ban ends now', token('Dora'), '4 rows'),
        ('one that does not exist', token('Nobody'), '0 rows'),
        ('no claims', null, '0 rows')
) as caller (who, claims, expected);
select is(
    probe('authenticated', token('Anna'), 'select accountctl.account_open()'), '42501',
    'the schema stays closed to the API''s roles'
);

select * from finish();
rollback;
