-- What devices report: which reports wait for the worker, and how long each is kept.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');

create function pg_temp.report(name text, state text, client_id text default 'com.example.app')
returns bigint
language sql
as $$
    select act(
        'authenticated', token(name), format('select public.report_apple_credential_state(%L, %L)', state, client_id)
    )
$$;
-- The reports of all, the oldest first.
create function pg_temp.reports()
returns text
language sql
as $$
    select coalesce(
        string_agg(concat_ws(' ', client_id, kind, coalesce(outcome, 'waits')), ', ' order by received_at, id), 'none'
    )
    from accountctl.credential_events
    where source = 'device'
$$;
create function pg_temp.pass(days integer)
returns void
language sql
as $$
    update accountctl.credential_events set received_at = received_at - days * interval '1 day'
$$;

-- What waits ---------------------------------------------------------------------------------------------------------

select pg_temp.report('Anna', state) from unnest(array['authorized', 'authorized', 'notFound', 'revoked']) as state;
select is(
    pg_temp.reports(),
    'com.example.app state_authorized noted, com.example.app state_not_found device_only, com.example.app state_revoked waits',
    'only what asks for something waits for the worker'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', (array['authorized', 'revoked'])[n % 2 + 1]) from generate_series(1, 9) as n;
select pg_temp.report('Anna', 'revoked', 'com.example.web');
select results_eq(
    $$
        select client_id, count(*)
        from accountctl.credential_events
        where kind = 'state_revoked'
        group by client_id
        order by client_id
    $$,
    $$ values ('com.example.app', 3::bigint), ('com.example.web', 1) $$,
    'what Apple is to be asked about is asked three times a day'
);

-- What is kept -------------------------------------------------------------------------------------------------------

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'authorized', 'com.example.web');
select pg_temp.report('Bert', 'authorized');
select pg_temp.report('Anna', state), pg_temp.pass(1) from unnest(array['authorized', 'authorized', 'authorized']) as state;
select is(
    pg_temp.reports(),
    'com.example.web state_authorized noted, com.example.app state_authorized noted, com.example.app state_authorized noted',
    'a report takes the place of the ones before it of the same account and client id'
);
select is((select count(*) from accountctl.credential_events where user_id = id('Bert')), 1::bigint, 'nobody else''s goes');

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'revoked'), pg_temp.report('Anna', 'transferred');
update accountctl.credential_events set handled_at = now(), outcome = 'done' where kind = 'state_revoked';
select pg_temp.pass(30);
select pg_temp.report('Anna', 'authorized');
select is(
    pg_temp.reports(),
    'com.example.app state_revoked done, com.example.app state_transferred waits, com.example.app state_authorized noted',
    'what led to something is kept'
);
select pg_temp.pass(60);
select pg_temp.report('Anna', 'authorized');
select is(
    pg_temp.reports(), 'com.example.app state_transferred waits, com.example.app state_authorized noted',
    'for ninety days, and what waits until it is handled'
);

select * from finish();
rollback;
