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

select pg_temp.report('Bert', 'revoked');
select is(
    (select count(*) from accountctl.credential_events where user_id = id('Bert')), 1::bigint,
    'reports of other accounts do not count'
);
select pg_temp.pass(1), pg_temp.report('Anna', 'revoked');
select is(
    (
        select count(*)
        from accountctl.credential_events
        where user_id = id('Anna') and client_id = 'com.example.app' and received_at = now()
    ),
    1::bigint, 'the next day a report of it is stored again'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', (array['authorized', 'revoked'])[n % 2 + 1], null) from generate_series(1, 9) as n;
select is(
    (select count(*) from accountctl.credential_events where kind = 'state_revoked'), 3::bigint,
    'a report that names no client id counts like others'
);
delete from accountctl.credential_events;
select pg_temp.report('Anna', 'authorized', null) from generate_series(1, 2);
select is(pg_temp.reports(), 'state_authorized noted', 'a report that names no client id is stored once while it does not change');
select pg_temp.pass(1), pg_temp.report('Anna', 'authorized', null);
select pg_temp.pass(1), pg_temp.report('Anna', 'authorized', null);
select is(
    pg_temp.reports(), 'state_authorized noted', 'a report that names no client id replaces the ones before it'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'authorized');
update accountctl.credential_events set received_at = now() - interval '23:59:59';
select pg_temp.report('Anna', 'authorized');
select is(pg_temp.reports(), 'com.example.app state_authorized noted', 'a state that has not changed is not stored again within a day');
select pg_temp.report('Anna', state) from unnest(array['notFound', 'notFound']) as state;
select is(
    pg_temp.reports(), 'com.example.app state_authorized noted, com.example.app state_not_found device_only',
    'whether a report is news is told by the last one of the day'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', (array['authorized', 'notFound'])[n % 2 + 1]) from generate_series(1, 8) as n;
select is((select count(*) from accountctl.credential_events), 8::bigint, 'what asks for nothing is stored whenever it changes');

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'authorized', 'com.example.app' || n) from generate_series(1, 49) as n;
select pg_temp.report('Bert', 'authorized');
select is(
    (select count(*) from accountctl.credential_events where user_id = id('Bert')), 1::bigint,
    'the reports of a day are counted for each account'
);
select pg_temp.report('Anna', 'authorized', 'com.example.app' || n) from generate_series(50, 52) as n;
select is(
    (select array_agg(distinct user_id) from accountctl.credential_events where client_id = 'com.example.app50'), array[id('Anna')],
    'the fiftieth report of a day is stored'
);
select is(
    (select count(*) from accountctl.credential_events where client_id in ('com.example.app51', 'com.example.app52')), 0::bigint,
    'the reports after the fiftieth of a day are not stored'
);
update accountctl.credential_events set received_at = received_at - interval '23:59:59';
select pg_temp.report('Anna', 'authorized', 'com.example.app51');
select is(
    (select count(*) from accountctl.credential_events where client_id = 'com.example.app51'), 0::bigint,
    'no report after the fiftieth is stored up to the last second of the day'
);
select pg_temp.pass(1), pg_temp.report('Anna', 'authorized', 'com.example.app51');
select is(
    (select count(*) from accountctl.credential_events where client_id = 'com.example.app51'), 1::bigint,
    'the day after fifty reports another one is stored'
);

delete from accountctl.credential_events;
insert into accountctl.credential_events (source, kind, client_id, user_id)
select 'check', 'state_revoked', 'com.example.app', id('Anna') from generate_series(1, 3);
select pg_temp.report('Anna', 'revoked');
select is(pg_temp.reports(), 'com.example.app state_revoked waits', 'what a check of our own found is no report');

-- What is kept -------------------------------------------------------------------------------------------------------

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'authorized', 'com.example.web');
select pg_temp.report('Bert', 'authorized');
select pg_temp.report('Anna', state), pg_temp.pass(1) from unnest(array['authorized', 'authorized', 'authorized']) as state;
select is(
    pg_temp.reports(),
    'com.example.web state_authorized noted, com.example.app state_authorized noted, com.example.app state_authorized noted',
    'a report replaces the ones before it of the same account and client id'
);
select is(
    (select count(*) from accountctl.credential_events where user_id = id('Bert')), 1::bigint,
    'a report replaces none of another account'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'notFound'), pg_temp.pass(1) from generate_series(1, 3);
select is(
    pg_temp.reports(), 'com.example.app state_not_found device_only',
    'a report of another Apple Account on the device replaces the ones before it, too'
);

delete from accountctl.credential_events;
select pg_temp.report('Anna', 'revoked'), pg_temp.report('Anna', 'transferred');
update accountctl.credential_events set handled_at = now(), outcome = 'done' where kind = 'state_revoked';
select pg_temp.pass(30);
select pg_temp.report('Anna', 'authorized');
select is(
    pg_temp.reports(),
    'com.example.app state_revoked done, com.example.app state_transferred waits, com.example.app state_authorized noted',
    'a handled report that led to something is kept beside newer ones'
);
select pg_temp.pass(59);
select pg_temp.report('Anna', 'authorized');
select is(
    pg_temp.reports(),
    'com.example.app state_revoked done, com.example.app state_transferred waits, com.example.app state_authorized noted',
    'a handled report that led to something is kept for 89 days'
);
insert into accountctl.credential_events (source, kind, user_id, notification_id, received_at, handled_at, outcome)
values ('apple', 'consent-revoked', id('Anna'), 'n', now() - interval '100 days', now(), 'done');
select pg_temp.pass(1);
select pg_temp.report('Anna', 'authorized');
select is(
    (select count(*) from accountctl.credential_events where source = 'apple'), 1::bigint,
    'what Apple told is kept, however old: it is no report'
);
select is(
    pg_temp.reports(), 'com.example.app state_transferred waits, com.example.app state_authorized noted',
    'after 90 days a handled report goes, and one that waits stays'
);

select * from finish();
rollback;
