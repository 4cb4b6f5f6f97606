-- The five functions of the app: who may call which, that each acts on the caller's account alone, and that their form is
-- the one that PostgREST can tell apart.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');
select sign_up('Cleo');
select sign_up('Gone');
update auth.users set banned_until = now() + interval '10 years' where id = id('Cleo');
delete from auth.users where id = id('Gone');

create temp table call (function name, statement text);
insert into call
values
    ('request_account_deletion', 'select public.request_account_deletion()'),
    ('cancel_account_deletion', 'select public.cancel_account_deletion()'),
    ('account_deletion_status', 'select public.account_deletion_status()'),
    (
        'submit_apple_authorization_code',
        'select public.submit_apple_authorization_code(authorization_code => ''c0de'', client_id => ''com.example.app'')'
    ),
    (
        'report_apple_credential_state',
        'select public.report_apple_credential_state(state => ''authorized'', client_id => ''com.example.app'')'
    );

-- Form ---------------------------------------------------------------------------------------------------------------

select is(
    (select count(*) from pg_proc as p where p.pronamespace = 'public'::regnamespace and p.proname = function), 1::bigint,
    function || ' has one signature'
)
from call;
select ok(
    (
        select not p.prosecdef
            and p.proconfig = array['search_path=""']
            and p.prosqlbody is not null
            and p.pronargs = p.pronargdefaults
            and p.provolatile = case function when 'account_deletion_status' then 's' else 'v' end
            and p.proowner = 'postgres'::regrole
        from pg_proc as p
        where p.pronamespace = 'public'::regnamespace and p.proname = function
    ),
    function || ' is INVOKER, with an SQL body, a fixed search_path and a default for every argument'
)
from call;
select ok(
    (
        select p.prosecdef
            and p.proconfig = array['search_path=pg_catalog, pg_temp']
            and 'user_id' <> all (coalesce(p.proargnames, '{}'))
        from pg_proc as p
        where p.pronamespace = 'accountctl'::regnamespace and p.proname = function
    ),
    function || ' stands over a DEFINER function that takes no user id'
)
from call;
select is(
    array(
        select grantee::regrole::text
        from pg_proc as p
        cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))
        where p.pronamespace = 'public'::regnamespace
          and p.proname = function
          and grantee <> p.proowner
        order by 1
    ),
    case function when 'account_deletion_status' then array['anon', 'authenticated'] else array['authenticated'] end,
    function || ' is granted to those who need it alone'
)
from call;

-- Who ----------------------------------------------------------------------------------------------------------------

select is(
    probe(who.role_name, who.claims, call.statement),
    case
        when who.role_name = 'anon' and call.function = 'account_deletion_status' then '22023'
        when who.role_name in ('anon', 'service_role', 'accountctl_operator', 'supabase_auth_admin') then '42501'
        when call.function = 'account_deletion_status' and who.name = 'nobody' then '22023'
        when call.function = 'account_deletion_status' then 'PT404'
        when who.name = 'nobody' then 'PT401'
        when who.name = 'Gone' then 'PT410'
        when call.function = 'cancel_account_deletion' then 'PT404'
        when call.function = 'request_account_deletion' and who.name = 'Cleo, banned,' then 'PT403'
        else '1 rows'
    end,
    format('%s calls %s', who.name, call.function)
)
from call
cross join (
    values
        ('anon', 'anon', null::jsonb),
        ('Anna', 'authenticated', token('Anna')),
        ('Cleo, banned,', 'authenticated', token('Cleo')),
        ('Gone', 'authenticated', token('Gone')),
        ('nobody', 'authenticated', null),
        ('service_role', 'service_role', '{"role": "service_role"}'),
        ('an operator', 'accountctl_operator', null),
        ('the Auth server', 'supabase_auth_admin', null)
) as who (name, role_name, claims);

-- Whose --------------------------------------------------------------------------------------------------------------

select is(
    act('authenticated', token('Anna'), 'select public.request_account_deletion()'), 1::bigint, 'Anna asks for deletion'
);
select is(
    (select array_agg(user_id) from accountctl.deletion_requests), array[id('Anna')], 'the request is for Anna alone'
);
select act('authenticated', token('Anna'), 'select public.request_account_deletion()');
select is((select count(*) from accountctl.deletion_requests), 1::bigint, 'asked twice, it is one request');
select is(
    probe('authenticated', token('Bert'), 'select public.cancel_account_deletion()'), 'PT404',
    'Bert cannot cancel Anna''s request'
);
select is(
    probe('authenticated', token('Bert'), 'select public.account_deletion_status()'), 'PT404',
    'Bert cannot see Anna''s request'
);
select is(
    probe('anon', null, 'select public.account_deletion_status(status_token => ''guessed'')'), 'PT404',
    'a guessed status token shows nothing'
);
select is(
    answer('authenticated', token('Anna'), 'select public.account_deletion_status() ->> ''request_id'''),
    (select id::text from accountctl.deletion_requests), 'Anna sees her request'
);
select is(
    act('authenticated', token('Bert'), 'select public.submit_apple_authorization_code(''bert'', ''com.example.app'')'),
    1::bigint, 'Bert hands in a code'
);
select is(
    (select array_agg(user_id) from accountctl.authorization_codes), array[id('Bert')], 'the code is Bert''s alone'
);
select is(
    probe('authenticated', token('Anna'), 'select * from accountctl.authorization_codes'), '42501',
    'codes are out of reach of the API''s roles'
);

select is(answer('authenticated', token('Bert'), format('select public.%s', call)), '{"accepted": true}', call || ' answers')
from unnest(
    array[
        'submit_apple_authorization_code(''c0de'', ''a'')', 'report_apple_credential_state(''authorized'', ''a'')',
        'report_apple_credential_state(''authorized'', repeat(''a'', 255))'
    ]
) as call;

-- A status token outlives whatever is asked later ----------------------------------------------------------------------

create function pg_temp.token_given(claims jsonb) returns text language plpgsql as $$
    declare
        given text;
    begin
        perform set_config('request.jwt.claims', claims::text, true);
        set local role authenticated;
        given := public.request_account_deletion() ->> 'status_token';
        reset role;
        -- As if it had been a while ago.
        update accountctl.deletion_status_tokens set created_at = created_at - interval '1 minute';
        return given;
    end
$$;
create temp table kept (token text);
savepoint tokens;
delete from accountctl.deletion_status_tokens;
insert into kept select pg_temp.token_given(token('Anna')) from generate_series(1, 30);
select ok(bool_and(token ~ '^[0-9a-f]{64}$') and count(distinct token) = 30, 'each of them is long, and another') from kept;
select is(
    array(
        select n
        from (select row_number() over () as n, token from kept) as given
        where probe('anon', null, format('select public.account_deletion_status(%L)', token)) = '1 rows'
        order by n
    ),
    array[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]::bigint[],
    'the first and the last ten answer'
);
select is(
    (
        select answer(
            'authenticated', token('Bert'), format('select public.account_deletion_status(%L) ->> ''request_id''', token)
        )
        from kept
        limit 1
    ),
    (select id::text from accountctl.deletion_requests),
    'a token answers for its request, whoever is signed in meanwhile'
);
select act('authenticated', token('Bert'), 'select public.request_account_deletion()') from generate_series(1, 30);
select is(
    (
        select array_agg(held order by held)
        from (
            select count(*) as held
            from accountctl.deletion_status_tokens
            group by request_id
        ) as requests
    ),
    array[20, 20]::bigint[], 'another request has those of its own'
);
select is(
    answer('authenticated', claims, 'select public.request_account_deletion() ->> ''status_token'''), null::text,
    'none is given to ' || who
)
from (
    values
        ('an ended session', token('Anna', '{"session_id": "11111111-1111-4111-8111-111111111111"}')),
        ('a session of somebody else', token('Anna', jsonb_build_object('session_id', md5('Bert session')::uuid)))
) as lesser (who, claims);
select is(
    answer('authenticated', token('Anna'), 'select (public.request_account_deletion() ->> ''status_token'') is not null'), 'true',
    'a full sign-in that asks again is given one'
);
rollback to savepoint tokens;

-- Clients that read times without their offset ----------------------------------------------------------------------

set local timezone = 'Asia/Tokyo';
select is(
    (accountctl.deletion_status_document(id) ->> 'runs_after')::timestamp, run_after at time zone 'utc',
    'a status has its times in UTC, whatever the time zone of the session'
)
from accountctl.deletion_requests
where user_id = id('Anna');
reset timezone;

-- What is told of Apple before the deletion says it --------------------------------------------------------------------

create function pg_temp.apple() returns text language sql as $$
    select accountctl.deletion_status_document(id) ->> 'apple' from accountctl.deletion_requests where user_id = id('Anna')
$$;
select is(pg_temp.apple(), 'not_held', 'without anything of Apple''s there is nothing to revoke');
insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
values (id('Anna'), 'com.example.app', '001234.5678.0123', 'sealed', 'key');
select is(pg_temp.apple(), 'pending', 'a credential is held whether or not its identity is linked still');
delete from accountctl.apple_credentials;
insert into accountctl.authorization_codes (user_id, code, state, settled_at)
values (id('Anna'), 'c0de', 'received', null), (id('Anna'), null, 'exchanged', now());
select is(pg_temp.apple(), 'pending', 'a code may bring a credential');
update accountctl.authorization_codes set state = 'exchanging', tried_at = now() where code is not null and user_id = id('Anna');
select is(pg_temp.apple(), 'pending', 'a code may bring a credential while Apple is asked, too');
update accountctl.authorization_codes
set code = null, state = 'grant_unknown', settled_at = now()
where code is not null and user_id = id('Anna');
select is(pg_temp.apple(), 'pending', 'a code of which Apple''s answer was lost may have brought a credential');
delete from accountctl.authorization_codes where user_id = id('Anna') and state = 'grant_unknown';
select is(pg_temp.apple(), 'not_held', 'a code that was exchanged brings no further credential');
insert into accountctl.lost_grants (user_id, client_id) values (id('Anna'), 'com.example.app');
select is(pg_temp.apple(), 'pending', 'a grant that was lost lives on');
delete from accountctl.lost_grants;
insert into auth.identities (provider_id, user_id, identity_data, provider)
values ('001234.5678.0123', id('Anna'), '{"sub": "001234.5678.0123"}', 'apple');
select is(pg_temp.apple(), 'pending', 'an identity of Apple''s may have one');
delete from auth.identities where user_id = id('Anna');
delete from accountctl.authorization_codes where user_id = id('Anna');
savepoint deleted_elsewhere;
delete from auth.users where id = id('Anna');
select is(pg_temp.apple(), 'pending', 'an account that was deleted in another way took along what was known');
rollback to savepoint deleted_elsewhere;

-- During grace the account works; from the lock-out on it does not write any more.
select is(
    probe('authenticated', token('Anna'), 'update public.profiles set website = ''x'''), '1 rows', 'grace: the account works'
);
update accountctl.deletion_requests set locked_out_at = now(), state = 'running';
select is(
    probe('authenticated', token('Anna'), 'update public.profiles set website = ''x'''), '42501',
    'locked out: an old token writes no profile'
);
select is(
    probe(
        'authenticated', token('Anna'),
        format(
            'insert into storage.objects (bucket_id, name, owner, owner_id) values (''avatars'', ''x'', %1$L, %1$L)', id('Anna')
        )
    ),
    '42501', 'locked out: an old token uploads no avatar'
);
select is(
    probe('authenticated', token('Bert'), 'update public.profiles set website = ''x'''), '1 rows',
    'locked out: other accounts write on'
);
select is(
    probe('authenticated', token('Anna'), 'select public.cancel_account_deletion()'), 'PT409',
    'locked out: it is too late to cancel'
);

select * from finish();
rollback;
