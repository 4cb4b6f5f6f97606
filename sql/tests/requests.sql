-- A deletion request by its functions: which of several is meant, what a cancel leaves alone, and what a person is told of it.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');
select sign_up('Cleo');
select sign_up('Dora');

-- Several: who cancelled before asks again ----------------------------------------------------------------------------

create temp table request (place int, id uuid);
create function pg_temp.ask(who text) returns uuid language sql as $$
    -- All of this happens in one instant: the others were a while ago.
    update accountctl.deletion_requests
    set requested_at = requested_at - interval '1 minute'
    where user_id = id(who) and finished_at is not null;
    select act('authenticated', token(who), 'select public.request_account_deletion()');
    select id from accountctl.deletion_requests where user_id = id(who) and finished_at is null
$$;
insert into request values (1, pg_temp.ask('Anna'));
select act('authenticated', token('Anna'), 'select public.cancel_account_deletion()');
insert into request values (2, pg_temp.ask('Anna'));
select is(
    answer('authenticated', token('Anna'), 'select public.account_deletion_status() ->> ''request_id'''),
    (select id::text from request where place = 2), 'the status is that of the open request'
);
select is(
    answer('authenticated', token('Anna'), 'select public.request_account_deletion() ->> ''request_id'''),
    (select id::text from request where place = 2), 'asking again returns the open request'
);
select is(
    answer('authenticated', token('Anna'), 'select public.account_deletion_status() ->> ''state'''), 'grace',
    'the open request waits for the end of grace'
);
select is(
    answer('authenticated', token('Anna'), 'select public.cancel_account_deletion() ->> ''request_id'''),
    (select id::text from request where place = 2), 'cancelling cancels the open request'
);
select act('authenticated', token('Anna'), 'select public.cancel_account_deletion()');
select is(
    (select array_agg(state) from accountctl.deletion_requests), array['cancelled', 'cancelled'],
    'after the cancel no request is open'
);
select is(
    answer('authenticated', token('Anna'), 'select public.account_deletion_status() ->> ''request_id'''),
    (select id::text from request where place = 2), 'with no open request the status is that of the last one'
);
select is(
    answer('authenticated', token('Anna'), 'select public.cancel_account_deletion() ->> ''request_id'''),
    (select id::text from request where place = 2), 'cancelling once more returns the last request'
);
select is(
    (accountctl.deletion_status_document(requests.id) ->> member)::timestamptz, at, format('request %s: %s', place, member)
)
from accountctl.deletion_requests as requests
join request using (id)
cross join lateral (
    values
        ('requested_at', requested_at), ('runs_after', run_after), ('done_by', legal_deadline), ('finished_at', finished_at)
) as times (member, at);

-- The job of one that is cancelled --------------------------------------------------------------------------------------

select pg_temp.ask('Bert');
select pg_temp.ask('Cleo');
update accountctl.jobs as j
set state = 'running', worker = 1, claimed_at = now()
from accountctl.deletion_requests as r
where j.unique_key = 'account.delete:' || r.id and r.user_id = id('Bert');
select act('authenticated', token(who), 'select public.cancel_account_deletion()') from unnest(array['Bert', 'Cleo']) as who;
select is(
    (
        select j.state::text
        from accountctl.jobs as j
        join accountctl.deletion_requests as r on j.unique_key = 'account.delete:' || r.id
        where r.user_id = id(who)
    ),
    state, 'the job of ' || who
)
from (values ('Bert', 'running'), ('Cleo', 'available')) as job (who, state);

select is(
    (
        select array_agg(run_at <= clock_timestamp())
        from accountctl.jobs
        where kind = 'account.delete' and state = 'available'
    ),
    array[true, true, true], 'the job of a cancelled request runs at once'
);

select sign_up('Eve');
select sign_up('Finn');
select pg_temp.ask(who) from unnest(array['Eve', 'Finn']) as who;
update accountctl.deletion_requests
set situation = '{"code": "x"}', situation_since = now(), sealed_identifiers = 'sealed', sealing_key_id = 'key', reason = 'tired'
where user_id = id('Eve');
select is(accountctl.cancel_deletion_request(id), 'cancelled', 'an operator cancels')
from accountctl.deletion_requests
where user_id = id('Eve');
select is(
    (
        select row(state, finished_at, situation, situation_since, sealed_identifiers, sealing_key_id, reason)::text
        from accountctl.deletion_requests
        where user_id = id('Eve')
    ),
    row('cancelled', now(), null, null, null, null, null)::text, 'a cancelled request keeps nothing that was collected or said'
);
select act('authenticated', token('Eve'), 'select public.cancel_account_deletion()');
select is(
    (select cancelled_by from accountctl.deletion_requests where user_id = id('Eve')), null,
    'the app''s cancel of a request that an operator had cancelled leaves no session on it'
);
select is(
    (
        select row(r.state, j.state, j.run_at = r.run_after)::text
        from accountctl.deletion_requests as r
        join accountctl.jobs as j on j.unique_key = 'account.delete:' || r.id
        where r.user_id = id('Finn')
    ),
    '(grace,scheduled,t)', 'the request and the job of another account stay as they were'
);
select is(accountctl.cancel_deletion_request(gen_random_uuid()), 'unknown', 'a request that does not exist');

-- Who is locked out, and who is not any more -----------------------------------------------------------------------------

create function pg_temp.writes(who text) returns text language sql as $$
    select probe('authenticated', token(who), 'update public.profiles set website = ''x''')
$$;
select pg_temp.ask('Dora');
update accountctl.deletion_requests set locked_out_at = now(), state = 'running' where user_id = id('Dora') and finished_at is null;
select is(pg_temp.writes('Dora'), '42501', 'an account that is locked out writes nothing');
update accountctl.deletion_requests set state = 'cancelled', finished_at = now() where user_id = id('Dora');
select is(pg_temp.writes('Dora'), '1 rows', 'an account whose lock-out was taken back writes again');
select is(
    probe('authenticated', token('Dora'), 'select public.cancel_account_deletion()'), '1 rows',
    'cancelling a request that was cancelled after its lock-out is no error'
);

-- One session among several ----------------------------------------------------------------------------------------------

insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)
values (md5('client')::uuid, 'dynamic', '', '', 'none');
insert into auth.sessions (id, user_id, oauth_client_id)
select md5(n || ' of a client')::uuid, id('Bert'), md5('client')::uuid from generate_series(1, 2) as n;
select is(
    probe('authenticated', token('Bert', claims), 'select public.request_account_deletion()'), expected, session
)
from (
    values
        ('{}'::jsonb, '1 rows', 'by the app, beside sessions of a client'),
        (jsonb_build_object('session_id', md5('2 of a client')::uuid), 'PT403', 'by a client, beside the app''s session')
) as asked (claims, expected, session);

-- What is told ---------------------------------------------------------------------------------------------------------

update accountctl.deletion_requests set requested_at = requested_at - interval '1 hour' where user_id = id('Dora');
insert into request values (3, pg_temp.ask('Dora'));
-- Of somebody else there is everything, which says nothing about Dora.
insert into auth.identities (provider_id, user_id, identity_data, provider)
values ('001234.9999.0123', id('Finn'), '{"sub": "001234.9999.0123"}', 'apple');
insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
values (id('Finn'), 'com.example.app', '001234.9999.0123', 'sealed', 'key');
insert into accountctl.authorization_codes (user_id, code) values (id('Finn'), 'c0de');
insert into accountctl.lost_grants (user_id, client_id) values (id('Finn'), 'com.example.app');
insert into accountctl.deletion_steps (request_id, step, started_at, finished_at, outcome)
select id, step, now(), now() + interval '1 minute', 'accepted'
from accountctl.deletion_requests
cross join unnest(array['preflight', 'settle']) as step
where user_id = id('Finn');
-- What is told of the last request after a change that is taken back.
create function pg_temp.told(member text, prepare text) returns text language plpgsql as $$
declare
    told text;
    request uuid := (select id from request where place = 3);
begin
    begin
        execute format(replace(prepare, '{request}', '%1$L'), request);
        told := accountctl.deletion_status_document(request) ->> member;
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then return told;
    end;
end
$$;
create function pg_temp.with_request(changes text) returns text language sql as $$
    select format('update accountctl.deletion_requests set %s where id = {request}', changes)
$$;
select is(pg_temp.told('steps_done', 'select {request}'), '[]', 'no step yet');
select is(pg_temp.told('state', pg_temp.with_request('locked_out_at = now(), state = ''running''')), 'running', 'the state');
create temp table verified as
select
    'state = ''verified'', finished_at = now(), locked_out_at = now(), user_id = null, subject_hash = sha256(''x''), '
    'subject_key_id = ''k'', reason = null, sealed_identifiers = null, sealing_key_id = null' as changes;

select is(pg_temp.told('apple', pg_temp.with_request(changes)), expected, 'of Apple: ' || changes)
from (
    values
        ('failures = 0', 'not_held'),
        ('apple_outcome = ''revoked''', 'revoked'),
        ('apple_outcome = ''not_held''', 'not_held'),
        ('apple_outcome = ''pending''', 'pending'),
        ('apple_outcome = ''not_revoked''', 'not_revoked'),
        ('apple_outcome = ''grant_unknown''', 'not_revoked'),
        ('state = ''cancelled'', finished_at = now()', 'not_revoked'),
        ('state = ''cancelled'', finished_at = now(), apple_outcome = ''revoked''', 'revoked'),
        ((select changes from verified), 'not_held')
) as apple (changes, expected);
select is(pg_temp.told('can_cancel', pg_temp.with_request(changes)), expected, 'can be cancelled: ' || changes)
from (
    values
        ('failures = 0', 'true'),
        ('locked_out_at = now(), state = ''running''', 'false'),
        ('state = ''cancelled'', finished_at = now()', 'false')
) as standing (changes, expected);
select is(
    pg_temp.told(
        'steps_done',
        $$
            insert into accountctl.deletion_steps (request_id, step, started_at, finished_at, outcome)
            values
                ({request}, 'lock_out', now(), now(), 'ok'), ({request}, 'delete_rows', now(), now(), 'ok'),
                ({request}, 'preflight', now(), now() - interval '1 hour', 'ok'), ({request}, 'scrub_auth', now(), null, null)
        $$
    ),
    '["preflight", "delete_rows", "lock_out"]', 'steps that have ended, in the order in which they did, then by name'
);
select is(
    pg_temp.told('worker_seen', format('insert into accountctl.workers (name, version, slots, queues, kinds, beat_at, expires_at)
        values (''w'', ''1'', 1, ''{}'', ''{}'', now() - %L::interval, now())', seen)),
    expected, 'a worker that was seen ' || seen || ' ago'
)
from (values ('4 minutes 59 seconds', 'true'), ('5 minutes', 'false')) as worker (seen, expected);

insert into auth.identities (provider_id, user_id, identity_data, provider)
values ('001234.5678.0123', id('Dora'), '{"sub": "001234.5678.0123"}', 'apple');
select is(pg_temp.told('wants_apple_code', prepare), expected, 'a code of Apple''s is wanted: ' || prepare)
from (
    values
        ('select {request}', 'true'),
        ('update auth.identities set provider = ''google''', 'false'),
        (pg_temp.with_request('locked_out_at = now(), state = ''running'''), 'false'),
        (pg_temp.with_request('state = ''cancelled'', finished_at = now()'), 'false'),
        (
            'insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
            select user_id, ''com.example.app'', ''s'', ''sealed'', ''key'' from accountctl.deletion_requests where id = {request}',
            'false'
        ),
        (
            'insert into accountctl.authorization_codes (user_id, code)
            select user_id, ''c0de'' from accountctl.deletion_requests where id = {request}',
            'false'
        ),
        (
            'insert into accountctl.authorization_codes (user_id, code, expires_at)
            select user_id, ''c0de'', now() from accountctl.deletion_requests where id = {request}',
            'true'
        ),
        (
            'insert into accountctl.authorization_codes (user_id, code, state, settled_at)
            select user_id, null, ''refused'', now() from accountctl.deletion_requests where id = {request}',
            'true'
        )
) as wish (prepare, expected);

-- The proof of a request with these changes and these steps.
create function pg_temp.proof(changes text, steps text) returns text language sql as $$
    select pg_temp.told(
        'proof',
        pg_temp.with_request(changes)
        || '; insert into accountctl.deletion_steps (request_id, step, started_at, finished_at, outcome, facts) values ' || steps
    )
$$;
select is(
    pg_temp.proof(
        changes,
        format(
            $$
                ({request}, 'verify', now(), now() - interval '1 hour', 'ok', '{}'), ({request}, 'settle', now(), now(), %L, %L),
                ({request}, 'receipt', now(), now() + interval '1 second', 'ok', '{}')
            $$,
            outcome, facts
        )
    ),
    expected, format('the proof of a last search that was %s %s', outcome, facts)
)
from verified,
(
    values
        ('ok', '{"counts": {}}', 'searched'),
        ('accepted', '{"accepted": []}', 'accepted'),
        ('not_verifiable', '{"counts": {}}', 'user_id_only'),
        ('not_verifiable', '{"accepted": []}', 'user_id_only_accepted')
) as search (outcome, facts, expected);
select is(
    pg_temp.proof(
        changes,
        format(
            $$
                ({request}, 'verify', now(), now(), 'ok', null), ({request}, 'settle', now(), now() - %L::interval, 'accepted', null)
            $$,
            earlier
        )
    ),
    expected, format('the proof of a search that settled %s before it verified', earlier)
)
from verified, (values ('1 hour', 'searched'), ('0 hours', 'accepted')) as search (earlier, expected);
select is(
    pg_temp.proof(changes, $$({request}, 'verify', now(), now(), 'ok', null)$$), expected, 'the proof of one search: ' || changes
)
from (
    values
        ((select changes from verified), 'searched'),
        ('state = ''running'', locked_out_at = now()', null),
        ('state = ''cancelled'', finished_at = now()', null)
) as search (changes, expected);

select * from finish();
rollback;
