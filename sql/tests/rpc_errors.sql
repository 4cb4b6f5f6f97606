-- The table of errors in AppSide.md: each SQLSTATE, from each function that may raise it, with a message that names the
-- argument and never its value.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

-- As probe, with the message, the details and the hint.
create function pg_temp.refusal(role_name text, claims jsonb, statement text)
returns text
language plpgsql
as $$
declare
    detail text;
    hint text;
begin
    perform tests.act(role_name, claims, statement);
    return 'accepted';
exception when others then
    get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
    return concat_ws('; ', sqlstate || ' ' || sqlerrm, nullif(detail, ''), nullif(hint, ''));
end;
$$;

select sign_up('Anna');
select sign_up('Bert');
select sign_up('Gone');
delete from auth.users where id = id('Gone');

-- 22023: out of form -----------------------------------------------------------------------------------------------

select is(
    pg_temp.refusal('authenticated', token('Anna'), format('select public.%s', call)), '22023 ' || message, call
)
from (
    values
        ('submit_apple_authorization_code()', 'authorization_code is missing'),
        ('submit_apple_authorization_code('''')', 'authorization_code must have 1 to 2048 bytes'),
        ('submit_apple_authorization_code(repeat(''x'', 2049))', 'authorization_code must have 1 to 2048 bytes'),
        ('submit_apple_authorization_code(''c'', ''a b'')', 'client_id must be a bundle id or Services ID'),
        ('submit_apple_authorization_code(''c'', '''')', 'client_id must be a bundle id or Services ID'),
        ('submit_apple_authorization_code(''c'', repeat(''a'', 256))', 'client_id must be a bundle id or Services ID'),
        ('submit_apple_authorization_code(''c'', ''a'', '''')', 'redirect_uri must have 1 to 2048 bytes'),
        ('submit_apple_authorization_code(''c'', ''a'', repeat(''x'', 2049))', 'redirect_uri must have 1 to 2048 bytes'),
        ('submit_apple_authorization_code(repeat(''é'', 1025))', 'authorization_code must have 1 to 2048 bytes'),
        ('submit_apple_authorization_code(''c'', ''a'', repeat(''é'', 1025))', 'redirect_uri must have 1 to 2048 bytes'),
        ('request_account_deletion('''')', 'authorization_code must have 1 to 2048 bytes'),
        ('request_account_deletion(''c'', ''-'')', 'client_id must be a bundle id or Services ID'),
        ('request_account_deletion(reason => repeat(''x'', 1001))', 'reason must have at most 1000 characters'),
        ('report_apple_credential_state()', 'state must be authorized, revoked, notFound or transferred'),
        ('report_apple_credential_state(''Revoked'')', 'state must be authorized, revoked, notFound or transferred'),
        ('report_apple_credential_state(''revoked'', ''a/b'')', 'client_id must be a bundle id or Services ID'),
        ('report_apple_credential_state(''revoked'', repeat(''a'', 256))', 'client_id must be a bundle id or Services ID')
) as wrong (call, message);
select is(
    pg_temp.refusal('anon', null, 'select public.account_deletion_status()'), '22023 status_token is missing',
    'without an account the status needs its token'
);
select is((select count(*) from accountctl.deletion_requests), 0::bigint, 'a refused call opens no request');
select is((select count(*) from accountctl.authorization_codes), 0::bigint, 'a refused call stores no code');
savepoint longest;
select is(
    pg_temp.refusal(
        'authenticated', token('Anna'),
        format('select public.%s(repeat(''é'', 1024), repeat(''a'', 255), repeat(''ü'', 1024))', function)
    ),
    'accepted', function || ' with arguments as long as allowed'
)
from unnest(array['submit_apple_authorization_code', 'request_account_deletion']) as function;
select is(
    (
        select row(user_id, code, client_id, redirect_uri, sent_by)::text
        from accountctl.authorization_codes
    ),
    row(
        id('Anna'), repeat('é', 1024), repeat('a', 255), repeat('ü', 1024), sha256(convert_to(md5('Anna session')::uuid::text, 'UTF8'))
    )::text,
    'a code as long as allowed is stored, once for both calls'
);
select is(
    (select row(queue, priority, args, unique_key)::text from accountctl.jobs where kind = 'apple.exchange_code'),
    (select row('apple', 0, jsonb_build_object('code', id), 'apple.exchange_code:' || id)::text from accountctl.authorization_codes),
    'its exchange is enqueued before all other jobs'
);
rollback to savepoint longest;
select is(
    pg_temp.refusal('authenticated', token('Anna'), 'select public.request_account_deletion(''c'', ''a'', ''u'')'),
    'accepted', 'a code that comes with the request'
);
select is(
    (select row(code, client_id, redirect_uri)::text from accountctl.authorization_codes), '(c,a,u)',
    'a code that came with the request is stored with its client id and redirect URI'
);
rollback to savepoint longest;

-- PT401, PT410, 42501: who ----------------------------------------------------------------------------------------

select is(
    pg_temp.refusal('authenticated', '{"role": "authenticated"}', format('select public.%s', call)),
    'PT401 the access token names no account', call || ' without an account'
)
from unnest(array['request_account_deletion()', 'cancel_account_deletion()']) as call;
select is(
    pg_temp.refusal('authenticated', token('Gone'), format('select public.%s', call)),
    'PT410 the account does not exist; Sign out on the device.', call || ' after the account is gone'
)
from unnest(
    array[
        'request_account_deletion()', 'cancel_account_deletion()', 'submit_apple_authorization_code(''c'')',
        'report_apple_credential_state(''revoked'')'
    ]
) as call;
select alike(
    pg_temp.refusal('anon', null, format('select public.%s', call)), '42501 permission denied%', call || ' without signing in'
)
from unnest(
    array[
        'request_account_deletion()', 'cancel_account_deletion()', 'submit_apple_authorization_code(''c'')',
        'report_apple_credential_state(''revoked'')'
    ]
) as call;

-- PT403: a sign-in that is not enough to open a deletion, or to cancel one --------------------------------------------

select sign_up('Ed');
create temp table refused (why text, claims jsonb, prepare text, refusal text);
insert into refused
values
    (
        'an ended session', token('Ed', '{"session_id": "11111111-1111-4111-8111-111111111111"}'), 'select',
        'PT403 the session of the access token has ended; session_not_found; Sign in again.'
    ),
    (
        'the session of somebody else', token('Ed', jsonb_build_object('session_id', md5('Bert session')::uuid)), 'select',
        'PT403 the session of the access token has ended; session_not_found; Sign in again.'
    ),
    (
        'no session at all', token('Ed', '{"session_id": "none"}'), 'select',
        'PT403 the session of the access token has ended; session_not_found; Sign in again.'
    ),
    (
        'a suspension', token('Ed'),
        format('update auth.users set banned_until = now() + interval ''1 day'' where id = %L', id('Ed')),
        'PT403 the account is suspended; user_banned; Ask the operator of the app.'
    ),
    (
        'a suspension without an end', token('Ed'),
        format('update auth.users set banned_until = ''infinity'' where id = %L', id('Ed')),
        'PT403 the account is suspended; user_banned; Ask the operator of the app.'
    ),
    (
        'a soft deletion, which ends the sessions', token('Ed'),
        format(
            'update auth.users set deleted_at = now() where id = %1$L; delete from auth.sessions where user_id = %1$L', id('Ed')
        ),
        'PT403 the session of the access token has ended; session_not_found; Sign in again.'
    ),
    (
        'a second factor that was not used', token('Ed', '{"aal": "aal1"}'),
        format(
            'insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) '
            'values (%1$L, %1$L, ''totp'', ''verified'', now(), now())', id('Ed')
        ),
        'PT403 the account has a second factor, which this sign-in did not use; insufficient_aal; '
        'Verify the second factor, then ask again.'
    );
insert into refused
select 'a second factor of which the token says nothing', claims - 'aal', prepare, refusal
from refused
where why = 'a second factor that was not used';

-- What it prepares is taken back.
create function pg_temp.after(prepare text, role_name text, claims jsonb, statement text)
returns text
language plpgsql
as $$
declare
    answer text;
begin
    begin
        execute prepare;
        answer := pg_temp.refusal(role_name, claims, statement);
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then return answer;
    end;
end
$$;

select is(
    pg_temp.after(prepare, 'authenticated', claims, format('select public.%s', call)), refusal,
    format('%s opens no deletion: %s', why, call)
)
from refused
cross join unnest(array['request_account_deletion()', 'request_account_deletion(''c'')']) as call;
select is(
    pg_temp.after(
        prepare || '; select accountctl.open_deletion_request(' || quote_literal(id('Ed')) || ', ''operator'')', 'authenticated',
        claims, format('select public.%s', call)
    ),
    -- Undoing needs the second factor that doing needed; the session that asked may be over.
    case when call = 'cancel_account_deletion()' and refusal like '%insufficient_aal%' then refusal else 'accepted' end,
    format('%s and %s of one that is open', why, call)
)
from refused
cross join unnest(
    array['request_account_deletion()', 'account_deletion_status()', 'cancel_account_deletion()']
) as call;
select is(
    pg_temp.after(
        prepare || '; select accountctl.open_deletion_request(' || quote_literal(id('Ed')) || ', ''operator''); '
        'update accountctl.deletion_requests set locked_out_at = now(), state = ''running''',
        'authenticated', claims, 'select public.cancel_account_deletion()'
    ),
    'PT409 the deletion has begun; It can no longer be cancelled.', why || ' is told that it is too late'
)
from refused;
select is(
    pg_temp.after(
        prepare || '; select accountctl.cancel_deletion_request(request_id) from accountctl.open_deletion_request('
        || quote_literal(id('Ed')) || ', ''operator'')',
        'authenticated', claims, 'select public.cancel_account_deletion()'
    ),
    'accepted', why || ' is told that it is cancelled already'
)
from refused;
select is(
    array[
        pg_temp.after(prepare, 'authenticated', claims, 'select public.request_account_deletion()'),
        pg_temp.after(
            prepare || '; select accountctl.open_deletion_request(' || quote_literal(id('Ed')) || ', ''operator'')',
            'authenticated', claims, 'select public.cancel_account_deletion()'
        )
    ],
    array['accepted', 'accepted'], why
)
from (
    values
        ('a token without a session', token('Ed') - 'session_id', 'select'),
        ('a token with an empty session', token('Ed', '{"session_id": ""}'), 'select'),
        ('a session written in upper case', token('Ed', jsonb_build_object('session_id', upper(md5('Ed session')::uuid::text))), 'select'),
        (
            'a suspension that ends now', token('Ed'),
            format('update auth.users set banned_until = now() where id = %L', id('Ed'))
        ),
        (
            'a factor that was never verified', token('Ed', '{"aal": "aal1"}'),
            format(
                'insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) '
                'values (%1$L, %1$L, ''totp'', ''unverified'', now(), now())', id('Ed')
            )
        ),
        (
            'a factor of somebody else', token('Ed', '{"aal": "aal1"}'),
            format(
                'insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) '
                'values (%1$L, %1$L, ''totp'', ''verified'', now(), now())', id('Bert')
            )
        ),
        (
            'an anonymous account', token('Ed', '{"is_anonymous": true, "email": ""}'),
            format('update auth.users set is_anonymous = true, email = null where id = %L', id('Ed'))
        ),
        (
            'an account of a company''s sign-in', token('Ed'),
            format('update auth.users set is_sso_user = true where id = %L', id('Ed'))
        ),
        (
            'a second factor that was used', token('Ed', '{"aal": "aal2"}'),
            format(
                'insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) '
                'values (%1$L, %1$L, ''totp'', ''verified'', now(), now())', id('Ed')
            )
        )
) as enough (why, claims, prepare);

-- PT403: an OAuth client whom the person let in is not the app ---------------------------------------------------------

create temp table client (why text, claims jsonb, prepare text);
insert into client
select
    why, token('Ed', claims),
    format(
        $$
            insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)
            values (%L, 'dynamic', '', '', 'none');
        $$,
        md5('client')::uuid
    )
    || format(prepare, md5('Ed session')::uuid, md5('client')::uuid)
from (
    values
        ('the session of a client', '{}'::jsonb, 'update auth.sessions set oauth_client_id = %2$L where id = %1$L'),
        (
            'the session of a client, in capitals', jsonb_build_object('session_id', upper(md5('Ed session')::uuid::text)),
            'update auth.sessions set oauth_client_id = %2$L where id = %1$L'
        ),
        (
            'a client that signed out', jsonb_build_object('client_id', md5('client')::uuid),
            'delete from auth.sessions where id = %1$L'
        ),
        (
            'a client in capitals that signed out', jsonb_build_object('client_id', upper(md5('client')::uuid::text)),
            'delete from auth.sessions where id = %1$L'
        )
) as clients (why, claims, prepare);
select is(
    pg_temp.after(
        prepare || case when is_open then format('; select accountctl.open_deletion_request(%L, ''operator'')', id('Ed')) else '' end,
        'authenticated', claims, format('select public.%s', call)
    ),
    'PT403 the access token is that of an OAuth client; oauth_client; Only the app itself may ask for this.',
    format('%s, %s, where a deletion is %s', why, call, case when is_open then 'open' else 'not open' end)
)
from client
cross join unnest(
    array[
        'request_account_deletion()', 'request_account_deletion(''c'')', 'cancel_account_deletion()',
        'submit_apple_authorization_code(''c'')', 'report_apple_credential_state(''revoked'')'
    ]
) as call
cross join unnest(array[false, true]) as is_open;
select is(
    pg_temp.after(
        format('%s; select accountctl.open_deletion_request(%L, ''operator'')', prepare, id('Ed')),
        'authenticated', claims, 'select public.account_deletion_status()'
    ),
    'accepted', why || ' may look'
)
from client;
select is(
    array[
        pg_temp.after(prepare, 'authenticated', claims, 'select public.request_account_deletion()'),
        pg_temp.after(
            format('%s; select accountctl.open_deletion_request(%L, ''operator'')', prepare, id('Ed')),
            'authenticated', claims, 'select public.cancel_account_deletion()'
        )
    ],
    array['accepted', 'accepted'], why
)
from (
    values
        (
            'an Auth server that knows no OAuth clients', token('Ed', jsonb_build_object('client_id', md5('client')::uuid)),
            'drop table auth.oauth_clients cascade; alter table auth.sessions drop column oauth_client_id'
        ),
        (
            'an Auth server that knows no OAuth clients, and no session',
            token('Ed', jsonb_build_object('client_id', md5('client')::uuid)) - 'session_id',
            'drop table auth.oauth_clients cascade; alter table auth.sessions drop column oauth_client_id'
        ),
        ('a claim of the app''s own', token('Ed', '{"client_id": "a branch of a shop"}'), 'select'),
        (
            'a claim of the app''s own and no session', token('Ed', '{"client_id": "a branch of a shop"}') - 'session_id',
            format(
                $$
                    insert into auth.oauth_clients (id, registration_type, redirect_uris, grant_types, token_endpoint_auth_method)
                    values (%L, 'dynamic', '', '', 'none')
                $$,
                md5('client')::uuid
            )
        )
) as own (why, claims, prepare);

-- PT404, PT409: the request ---------------------------------------------------------------------------------------

select is(
    pg_temp.refusal('authenticated', token('Anna'), 'select public.cancel_account_deletion()'),
    'PT404 there is no deletion request', 'nothing to cancel'
);
select is(
    pg_temp.refusal('anon', null, 'select public.account_deletion_status(''guessed'')'),
    'PT404 there is no deletion request', 'a token that was never given'
);
select is(
    pg_temp.refusal('authenticated', token('Anna'), 'select public.request_account_deletion(reason => repeat(''é'', 1000))'),
    'accepted', 'a reason as long as allowed'
);
select is(
    (select row(user_id, origin, reason, state)::text from accountctl.deletion_requests),
    row(id('Anna'), 'app', repeat('é', 1000), 'grace')::text, 'a reason as long as allowed is stored'
);
update accountctl.deletion_requests set locked_out_at = now(), state = 'running';
select is(
    pg_temp.refusal('authenticated', token('Anna'), 'select public.cancel_account_deletion()'),
    'PT409 the deletion has begun; It can no longer be cancelled.', 'too late'
);

-- PT429: ten codes an hour of a session, a hundred of the account -----------------------------------------------------

select is(
    pg_temp.refusal(
        'authenticated', token('Bert'), format('select public.submit_apple_authorization_code(%L, ''com.example.app'')', 'code ' || n)
    ),
    'accepted', 'code ' || n || ' of an hour'
)
from generate_series(1, 10) as n;
select is(
    pg_temp.refusal('authenticated', token('Bert'), format('select public.%s', call)),
    'PT429 too many authorization codes; Try again in an hour.', call || ' as the eleventh'
)
from unnest(array['submit_apple_authorization_code(''code 11'')']) as call;
select is(
    answer('authenticated', token('Bert'), 'select public.request_account_deletion(''code 11'') ->> ''code_accepted'''), 'false',
    'nobody is kept from deleting the account by a code too many, which is told'
);
select is(
    answer('authenticated', token('Bert'), 'select public.request_account_deletion(''code 3'') ->> ''code_accepted'''), 'true',
    'a code that is stored already is accepted'
);
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.request_account_deletion(''code 11'')'), 'accepted',
    'the request is made without the code'
);
select is(
    (select count(*) from accountctl.deletion_requests where user_id = id('Bert')), 1::bigint,
    'requests with and without a code are one request'
);
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.submit_apple_authorization_code(''code 3'')'), 'accepted',
    'a call repeated because its answer was lost does not count'
);
select is(
    (select count(*) from accountctl.authorization_codes), 10::bigint,
    'a call repeated because its answer was lost stores no code again'
);
select is(
    pg_temp.refusal('authenticated', token('Anna'), 'select public.submit_apple_authorization_code(''code 1'')'), 'accepted',
    'another account may still send codes'
);
select is(
    (select count(*) from accountctl.authorization_codes where user_id = id('Anna') and code = 'code 1'), 1::bigint,
    'two accounts may send the same code'
);
select is(
    pg_temp.refusal(
        'authenticated', token('Bert', jsonb_build_object('session_id', upper(md5('Bert session')::uuid::text))),
        'select public.submit_apple_authorization_code(''code 11'')'
    ),
    'PT429 too many authorization codes; Try again in an hour.', 'a session written in capitals is the same session'
);
select is(
    pg_temp.refusal('authenticated', token('Bert') - 'session_id', 'select public.submit_apple_authorization_code(''code 11'')'),
    'accepted', 'another session does not use them up'
);
savepoint sessionless;
select is(
    (
        select count(*)
        from generate_series(12, 21) as n
        where pg_temp.refusal(
            'authenticated', case when n % 2 = 0 then token('Bert') - 'session_id' else token('Bert', '{"session_id": ""}') end,
            format('select public.submit_apple_authorization_code(%L)', 'code ' || n)
        ) = 'accepted'
    ),
    9::bigint, 'tokens without a session, or with an empty one, count as one'
);
rollback to savepoint sessionless;
-- At most ten of each.
select is(
    (
        select count(*)
        from generate_series(12, 100) as n
        where pg_temp.refusal(
            'authenticated', token('Bert', jsonb_build_object('session_id', md5('Bert ' || n / 10)::uuid)),
            format('select public.submit_apple_authorization_code(%L)', 'code ' || n)
        ) = 'accepted'
    ),
    89::bigint, 'an account sends a hundred codes an hour, from several sessions'
);
select is(
    pg_temp.refusal(
        'authenticated', token('Bert', '{"session_id": "11111111-1111-4111-8111-111111111111"}'),
        'select public.submit_apple_authorization_code(''code 101'')'
    ),
    'PT429 too many authorization codes; Try again in an hour.', 'an account sends no more than a hundred codes an hour'
);
select is(
    (
        select array[count(*), count(sent_by), count(distinct sent_by)]
        from accountctl.authorization_codes
        where user_id = id('Bert')
    ),
    array[100, 99, 11]::bigint[], 'each says which session sent it'
);
update accountctl.authorization_codes set received_at = received_at - interval '59 minutes 59 seconds';
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.submit_apple_authorization_code(''code 102'')'),
    'PT429 too many authorization codes; Try again in an hour.', 'within the hour there is no room'
);
update accountctl.authorization_codes set received_at = received_at - interval '1 second';
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.submit_apple_authorization_code(''code 102'')'), 'accepted',
    'an hour later there is room again'
);

-- PT429: ten requests a day ---------------------------------------------------------------------------------------

select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.cancel_account_deletion()'), 'accepted', 'cancelled once'
);
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.request_account_deletion()')
    || ' ' || pg_temp.refusal('authenticated', token('Bert'), 'select public.cancel_account_deletion()'),
    'accepted accepted', 'requested and cancelled ' || n || ' times'
)
from generate_series(2, 10) as n;
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.request_account_deletion()'),
    'PT429 too many deletion requests were made and cancelled; Sign in again, or try again tomorrow.', 'an eleventh within a day'
);
select is(
    pg_temp.refusal(
        'authenticated', token('Bert', jsonb_build_object('session_id', upper(md5('Bert session')::uuid::text))),
        'select public.request_account_deletion()'
    ),
    'PT429 too many deletion requests were made and cancelled; Sign in again, or try again tomorrow.',
    'an eleventh request from the session written in capitals'
);
select is(
    (select opened from accountctl.open_deletion_request(id('Bert'), 'operator')), true, 'an operator may all the same'
);
select is(
    pg_temp.refusal('authenticated', token('Bert'), 'select public.request_account_deletion()'), 'accepted',
    'asking for the open request is not refused, however many there were'
);

-- PT429 is of the session that cancelled: another one does not use up the requests of the person ------------------------

select sign_up('Flo');
create function pg_temp.asked_and_cancelled(asking jsonb, cancelling jsonb)
returns text
language sql
as $$
    select pg_temp.refusal('authenticated', asking, 'select public.request_account_deletion()')
        || ' ' || pg_temp.refusal('authenticated', cancelling, 'select public.cancel_account_deletion()')
$$;
create function pg_temp.session(name text, session text)
returns jsonb
language sql
as $$
    select token(name, jsonb_build_object('session_id', md5(session)::uuid))
$$;

select is(
    pg_temp.asked_and_cancelled(token('Flo'), pg_temp.session('Flo', 'ended')), 'accepted accepted',
    'cancelled ' || n || ' times by the token of a session that has ended'
)
from generate_series(1, 12) as n;
select is(
    pg_temp.asked_and_cancelled(token('Flo'), token('Flo') - 'session_id'), 'accepted accepted',
    'cancelled ' || n || ' times by a token without a session'
)
from generate_series(1, 10) as n;
select is(
    pg_temp.refusal('authenticated', token('Flo') - 'session_id', 'select public.request_account_deletion()'),
    'PT429 too many deletion requests were made and cancelled; Sign in again, or try again tomorrow.',
    'tokens without a session count as one'
);
select is(
    pg_temp.asked_and_cancelled(token('Flo'), token('Flo')), 'accepted accepted', 'cancelled ' || n || ' times by the one that asked'
)
from generate_series(1, 10) as n;
select is(
    pg_temp.refusal('authenticated', token('Flo'), 'select public.request_account_deletion()'),
    'PT429 too many deletion requests were made and cancelled; Sign in again, or try again tomorrow.',
    'the session that cancelled ten may ask no more'
);
insert into auth.sessions (id, user_id, created_at) values (md5('new')::uuid, id('Flo'), now());
select is(
    pg_temp.asked_and_cancelled(pg_temp.session('Flo', 'new'), pg_temp.session('Flo', 'new')), 'accepted accepted',
    'a new sign-in may ask and cancel'
);
select is(
    (
        select array[count(*), count(cancelled_by), count(distinct cancelled_by)]
        from accountctl.deletion_requests
        where user_id = id('Flo')
    ),
    array[33, 23, 3]::bigint[], 'each request has the hash of the session that cancelled it'
);
select is(
    (select count(*) from accountctl.deletion_requests where cancelled_by::text like '%' || left(md5('new'), 8) || '%'), 0::bigint,
    'no request has the id of a session in the clear'
);
create temporary table cancelled_before as
select id, cancelled_by
from accountctl.deletion_requests
where user_id = id('Flo');
select is(
    pg_temp.refusal('authenticated', token('Flo'), 'select public.cancel_account_deletion()'), 'accepted',
    'cancelling again is no error'
);
select is(
    (
        select count(*)
        from accountctl.deletion_requests
        join cancelled_before using (id)
        where deletion_requests.cancelled_by is distinct from cancelled_before.cancelled_by
    ),
    0::bigint, 'cancelling again does not change who cancelled'
);

select sign_up('Gil');
select accountctl.cancel_deletion_request(request_id)
from generate_series(1, 100) as n
cross join lateral accountctl.open_deletion_request(id('Gil'), 'operator', n::text);
select is(
    (select count(*) from accountctl.deletion_requests where user_id = id('Gil') and state = 'cancelled'), 100::bigint,
    'an operator opened and cancelled a hundred'
);
select is(
    pg_temp.asked_and_cancelled(token('Gil'), token('Gil')), 'accepted accepted',
    'requests of an operator do not count for the account'
);

-- PT429: a hundred requests a day, whoever cancelled them ---------------------------------------------------------------

select is(
    (
        select count(*)
        from generate_series(34, 100) as n
        where pg_temp.asked_and_cancelled(pg_temp.session('Flo', 'new'), pg_temp.session('Flo', 'ended')) = 'accepted accepted'
    ),
    67::bigint, 'an account asks and cancels a hundred times a day'
);
select is(
    pg_temp.refusal('authenticated', pg_temp.session('Flo', 'new'), 'select public.request_account_deletion()'),
    'PT429 too many deletion requests were made and cancelled; Try again tomorrow.',
    'an account asks no more than a hundred times a day'
);
update accountctl.deletion_requests
set requested_at = requested_at - interval '1 day', legal_deadline = legal_deadline - interval '1 day'
where user_id = id('Flo');
select is(
    pg_temp.refusal('authenticated', token('Flo'), 'select public.request_account_deletion()'), 'accepted',
    'the day after it may ask again'
);

-- Grace ends before the legal deadline, however long a month is ----------------------------------------------------

select sign_up('Dora');
select accountctl.open_deletion_request(id('Dora'), 'operator', null, '30 days');
select is(
    (select legal_deadline - run_after from accountctl.deletion_requests where user_id = id('Dora')), '3 days'::interval,
    'thirty days of grace leave days for the run'
);
select is(
    (
        select row(jobs.run_at = request.run_after, jobs.queue, jobs.kind, jobs.args ->> 'request' = request.id::text)::text
        from accountctl.deletion_requests as request
        join accountctl.jobs on jobs.unique_key = 'account.delete:' || request.id
        where request.user_id = id('Dora')
    ),
    '(t,deletions,account.delete,t)', 'the job of a request runs at the end of grace'
);

-- Grace is what the call says, else what the setting says --------------------------------------------------------------

insert into accountctl.settings (name, value) values ('deletion.grace', '"2 hours"');
create temp table asked (who text, grace interval, state text, waits interval);
insert into asked
values
    ('Hal', '0', 'requested', '0'), ('Ina', '-1 day', 'requested', '0'), ('Jon', '1 second', 'grace', '1 second'),
    ('Kim', null, 'grace', '2 hours');
select sign_up(who) from asked;
select accountctl.open_deletion_request(id(who), 'operator', '  ', grace) from asked;
select is(
    (select row(state, reason, run_after, legal_deadline)::text from accountctl.deletion_requests where user_id = id(who)),
    row(state, null, now() + waits, now() + interval '1 month')::text, format('a grace of %s', coalesce(grace::text, 'what is set'))
)
from asked;

-- An account that seems younger than its request is kept in mind by its time -------------------------------------------

select sign_up(who) from (values ('Lea'), ('Max')) as given (who);
update auth.users set created_at = now() + interval '1 hour' where id = id('Lea');
update auth.users set created_at = now() where id = id('Max');
select accountctl.open_deletion_request(id(who), 'operator') from (values ('Lea'), ('Max')) as given (who);
select is(
    (select account_created_at from accountctl.deletion_requests where user_id = id('Lea')), now() + interval '1 hour',
    'a request keeps when its account was created if that is later'
);
select is(
    (select account_created_at from accountctl.deletion_requests where user_id = id('Max')), null,
    'a request keeps nothing of an account that is older'
);

select * from finish();
rollback;
