-- The tables of mail, and the function that the app's own mailer asks.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
select sign_up('Bert');
select sign_up('Cleo');
update auth.users set email = 'x1@privaterelay.appleid.com' where id = id('Anna');
update auth.users set email = 'b@icloud.com' where id = id('Bert');
update auth.users set deleted_at = now() where id = id('Cleo');
insert into accountctl.mail_streams (name, from_domain, envelope_domain, signing_domain, reachable, spf, dkim, confirmed_at)
values ('news', 'shop.test', 'send.shop.test', 'shop.test', 'yes', 'ok', 'broken', now());
-- Whoever may see into the schema, and was granted nothing.
create role stranger;
grant usage on schema accountctl to stranger;
create role mailer;
grant usage on schema accountctl to mailer;
grant execute on function accountctl.can_send(text, uuid) to mailer;

-- Rights ---------------------------------------------------------------------------------------------------------------

select is(probe(role_name, null, statement), expected, role_name || ': ' || statement)
from (
    values
        ('mailer', '1 rows'),
        ('accountctl_operator', '1 rows'),
        ('stranger', '42501'),
        ('anon', '42501'),
        ('authenticated', '42501'),
        ('service_role', '42501')
) as caller (role_name, expected),
(values ('select * from accountctl.can_send(''news'', ''' || id('Anna') || ''')')) as call (statement);

select is(probe('mailer', null, statement), '42501', 'the mailer sees its answer only: ' || statement)
from (
    values
        ('select from accountctl.mail_streams'),
        ('select from accountctl.mail_checks'),
        ('select from accountctl.relay_addresses'),
        ('select from accountctl.relay_accounts'),
        ('select from auth.users'),
        ('select from accountctl.settings'),
        ('insert into accountctl.settings (name, value) values (''mail.relay_domains'', ''[]'')'),
        ('select accountctl.relay_domains()'),
        ('select accountctl.is_relay_address(''a@b.c'')'),
        ('select accountctl.note_relay_address(''' || id('Anna') || ''', ''a@b.c'', true, now())')
) as act (statement);
-- By the right itself: inside, these meet tables that nobody may read, and would look refused all the same.
select ok(not has_function_privilege(role_name, function, 'execute'), role_name || ' may not execute ' || function)
from (values ('mailer'), ('accountctl_operator'), ('anon'), ('authenticated'), ('service_role')) as caller (role_name),
(
    values
        ('accountctl.relay_domains()'),
        ('accountctl.is_relay_address(text, boolean)'),
        ('accountctl.note_relay_address(uuid, text, boolean, timestamptz, boolean)')
) as refused (function);
select ok(
    p.prosecdef
        and p.proconfig = array['search_path=pg_catalog, pg_temp']
        and p.provolatile = 's'
        and p.proowner = 'postgres'::regrole,
    'can_send is a stable DEFINER function with a fixed search_path'
)
from pg_proc as p
where p.oid = 'accountctl.can_send(text, uuid)'::regprocedure;

-- Answers --------------------------------------------------------------------------------------------------------------

create function pg_temp.ask(who text, stream text default 'news')
returns text
language sql
as $$
    select tests.answer(
        'mailer', null, format('select answer || '': '' || reason from accountctl.can_send(%L, %L)', stream, tests.id(who))
    )
$$;

select is(pg_temp.ask('Anna'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken', 'a relay address');
select is(pg_temp.ask('Bert'), 'yes: not a relay address', 'an ordinary address of iCloud');
select is(pg_temp.ask('Cleo'), 'no: there is no such account', 'a soft-deleted account');
select is(pg_temp.ask('Nobody'), 'no: there is no such account', 'no account');
select is(pg_temp.ask('Anna', 'other'), 'unknown: there is no such stream', 'no stream');
select is(pg_temp.ask('Anna', null), 'unknown: there is no such stream', 'null for a stream');
update auth.users set email = null where id = id('Bert');
select is(pg_temp.ask('Bert'), 'no: the account has no address', 'no address');

select accountctl.note_relay_address(id('Anna'), 'X1@privaterelay.appleid.com', false, now());
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'forwarding off');
select is(
    accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', true, now() - interval '1 hour'), false,
    'an event that comes late changes nothing'
);
select is(accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', true, now()), true, 'a newer event changes what is known');
select is(pg_temp.ask('Anna'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken', 'forwarding on again');

-- The account was made with a relay address, and the Apple Account that was linked to it since has told another one.
select sign_up('Dora');
update auth.users set email = 'd1@privaterelay.appleid.com' where id = id('Dora');
insert into auth.identities (provider_id, user_id, provider, identity_data, created_at)
values ('001234.dora', id('Dora'), 'apple', '{"email": "dora@example.com", "is_private_email": false}', now());
select is(
    pg_temp.ask('Dora'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken',
    'a relay address that no identity tells of'
);

-- Two Apple Accounts: the newest has told another address than the account's, and what the older one tells of the account's counts.
select sign_up('Emil');
select sign_up('Frida');
insert into auth.identities (provider_id, user_id, provider, identity_data, created_at)
values ('001234.new', id('Emil'), 'apple', '{"email": "new@example.com", "is_private_email": false}', now());
create function pg_temp.ask_of(address text, identities jsonb, account text default 'Emil', provider text default 'apple')
returns text
language plpgsql
as $$
declare
    told text;
begin
    begin
        update auth.users set email = address where id = tests.id('Emil');
        insert into auth.identities (provider_id, user_id, provider, identity_data, created_at)
        select 'told ' || n, tests.id(account), provider, told_by, now() - interval '1 day'
        from jsonb_array_elements(identities) with ordinality as old (told_by, n);
        told := pg_temp.ask('Emil');
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then
            return split_part(told, ':', 1) || case when told like '%not a relay address' then '' else ', relay' end;
    end;
end
$$;
select is(
    pg_temp.ask_of(address, identities, account, provider), expected,
    format('%s: %s of %s at %s', address, identities, account, provider)
)
from (
    values
        ('e@x.test', '[]'::jsonb, 'Emil', 'apple', 'yes'),
        ('e@x.test', '[{"email": "e@x.test", "custom_claims": {"is_private_email": true}}]', 'Emil', 'apple', 'yes, relay'),
        ('e@x.test', '[{"email": "e@x.test", "is_private_email": "TRUE"}]', 'Emil', 'apple', 'yes, relay'),
        ('E@x.test', '[{"email": "e@X.test", "is_private_email": true}]', 'Emil', 'apple', 'yes, relay'),
        ('e@x.test', '[{"is_private_email": true}]', 'Emil', 'apple', 'yes, relay'),
        ('e@x.test', '[{"email": "", "is_private_email": true}]', 'Emil', 'apple', 'yes, relay'),
        ('e@x.test', '[{"email": "other@x.test", "is_private_email": true}]', 'Emil', 'apple', 'yes'),
        (
            'e@x.test', '[{"is_private_email": true, "custom_claims": {"is_private_email": false}}]', 'Emil', 'apple', 'yes'
        ),
        ('e@privaterelay.appleid.com', '[]', 'Emil', 'apple', 'yes, relay'),
        ('e@privaterelay.appleid.com', '[{"is_private_email": false}]', 'Emil', 'apple', 'yes'),
        ('e@x.test', '[{"is_private_email": false}, {"is_private_email": true}]', 'Emil', 'apple', 'yes, relay'),
        ('e@x.test', '[{"is_private_email": true}, {"is_private_email": false}]', 'Emil', 'apple', 'yes'),
        -- Accounts of a company's sign-in may share an address.
        ('e@x.test', '[{"email": "e@x.test", "is_private_email": true}]', 'Frida', 'apple', 'yes'),
        ('e@x.test', '[{"email": "e@x.test", "is_private_email": true}]', 'Emil', 'google', 'yes')
) as told (address, identities, account, provider, expected);
delete from auth.identities where user_id = id('Emil');
insert into auth.identities (provider_id, user_id, provider, identity_data, created_at)
values
    ('001234.first', id('Emil'), 'apple', '{"email": "new@example.com", "is_private_email": false}', now()),
    ('001234.newer', id('Emil'), 'apple', '{"is_private_email": false}', now() - interval '1 hour'),
    ('001234.older', id('Emil'), 'apple', '{"is_private_email": true}', now() - interval '1 day');
select is(pg_temp.ask('Emil'), 'yes: not a relay address', 'the newer of two that tell of the account''s address counts');

-- The account was made with a relay address, and its person has given another one since.
select accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', false, now());
update auth.users set email = 'X1@privaterelay.appleid.com' where id = id('Anna');
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'the same address in capitals');
update auth.users set email = 'anna@example.com' where id = id('Anna');
select is(pg_temp.ask('Anna'), 'yes: not a relay address', 'the account has a real address since');
update auth.users set email = 'x2@privaterelay.appleid.com' where id = id('Anna');
select is(
    pg_temp.ask('Anna'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken',
    'another relay address, of whose forwarding nothing is known'
);
update auth.users set email = '' where id = id('Anna');
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'an empty address');
update auth.users set email = null where id = id('Anna');
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'no address but the one that Apple told');
update auth.users set email = 'x1@privaterelay.appleid.com' where id = id('Anna');
select accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', true, now());

update accountctl.mail_streams set confirmed_at = now() - interval '7 days';
select is(
    pg_temp.ask('Anna'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken', 'a verdict that was confirmed a week ago'
);
update accountctl.mail_streams set confirmed_at = now() - interval '7 days 1 second';
select matches(pg_temp.ask('Anna'), '^unknown: .* older than a week', 'a verdict that was not confirmed for a week');
update accountctl.mail_streams set confirmed_at = now(), reachable = 'no', spf = 'broken';
select matches(pg_temp.ask('Anna'), '^no: the relay does not take', 'a broken stream');
update accountctl.mail_streams set reachable = 'unknown';
select matches(pg_temp.ask('Anna'), '^unknown: it could not be told', 'a stream nobody can tell of');
update accountctl.mail_streams set reachable = null;
select matches(pg_temp.ask('Anna'), '^unknown: .* checked twice', 'a new stream');

-- Who has a relay address, and what is known of it -----------------------------------------------------------------------

-- What Apple's events tell goes before what the newest Apple identity tells, and that before the account's own address.
create function pg_temp.known(prepare text)
returns text
language plpgsql
as $$
declare
    known text;
begin
    begin
        perform tests.sign_up('Greta');
        update auth.users set email = 'Own@PrivateRelay.AppleID.com' where id = tests.id('Greta');
        execute format(replace(prepare, '{Greta}', '%1$L'), tests.id('Greta'));
        select concat_ws(' ', address, coalesce(apple_claim::text, 'null'), known_by, forwarding)
        into known
        from accountctl.relay_accounts
        where user_id = tests.id('Greta');
        raise exception using errcode = 'TP000';
    exception
        when sqlstate 'TP000' then return known;
    end;
end
$$;
create function pg_temp.identity(provider_id text, provider text, told jsonb, made text default '0')
returns text
language sql
as $$
    select format(
        'insert into auth.identities (provider_id, user_id, provider, identity_data, created_at) '
        'values (%L, {Greta}, %L, %L, now() + %L::interval);', provider_id, provider, told, made
    )
$$;
create function pg_temp.event(forwards boolean, claim boolean, ago text default '0', address text default 'Event@x.test')
returns text
language sql
as $$
    select format(
        'select accountctl.note_relay_address({Greta}, %L, %L, now() - %L::interval, %L);', address, forwards, ago, claim
    )
$$;
select is(pg_temp.known(prepare), expected, 'relay_accounts: ' || what)
from (
    values
        ('the account''s own address', 'select', 'own@privaterelay.appleid.com null domain unknown'),
        (
            'an identity''s', pg_temp.identity('1', 'apple', '{"email": "Id@x.test", "is_private_email": true}'),
            'id@x.test true claim unknown'
        ),
        (
            'a claim of either place, the newer first',
            pg_temp.identity('1', 'apple', '{"is_private_email": false, "custom_claims": {"is_private_email": "TRUE"}}'),
            'own@privaterelay.appleid.com true claim unknown'
        ),
        ('a claim that denies', pg_temp.identity('1', 'apple', '{"is_private_email": "False"}'), null),
        (
            'an empty address', pg_temp.identity('1', 'apple', '{"email": ""}'),
            'own@privaterelay.appleid.com null domain unknown'
        ),
        (
            'another provider''s', pg_temp.identity('1', 'google', '{"email": "g@x.test", "is_private_email": false}'),
            'own@privaterelay.appleid.com null domain unknown'
        ),
        (
            'the newest identity',
            pg_temp.identity('1', 'apple', '{"email": "new@x.test", "is_private_email": true}')
            || pg_temp.identity('2', 'apple', '{"email": "old@x.test", "is_private_email": true}', '-1 day'),
            'new@x.test true claim unknown'
        ),
        (
            'of two of one instant the last by its name',
            pg_temp.identity('1', 'apple', '{"email": "one@x.test", "is_private_email": true}')
            || pg_temp.identity('2', 'apple', '{"email": "two@x.test", "is_private_email": true}'),
            'two@x.test true claim unknown'
        ),
        (
            'an event before an identity',
            pg_temp.identity('1', 'apple', '{"email": "id@x.test", "is_private_email": false}') || pg_temp.event(false, true),
            'event@x.test true claim off'
        ),
        (
            'an event that denies', pg_temp.identity('1', 'apple', '{"is_private_email": true}') || pg_temp.event(true, false), null
        ),
        (
            'an event without a claim', pg_temp.identity('1', 'apple', '{"is_private_email": true}') || pg_temp.event(true, null),
            'event@x.test true claim on'
        ),
        (
            'an event of a domain in capitals', pg_temp.event(null, null, '0', 'Event@PrivateRelay.AppleID.com'),
            'event@privaterelay.appleid.com null domain unknown'
        ),
        (
            'the newest of two events',
            pg_temp.event(false, true, '1 hour') || pg_temp.event(true, true, '0', 'later@x.test')
            || pg_temp.event(false, false, '30 minutes'),
            'later@x.test true claim on'
        ),
        (
            'of two of one instant the one that comes last', pg_temp.event(false, true) || pg_temp.event(true, true),
            'event@x.test true claim on'
        ),
        (
            'a later event that says less keeps what was told',
            pg_temp.event(false, true, '1 hour') || pg_temp.event(null, null, '0', 'later@x.test'),
            'later@x.test true claim off'
        ),
        (
            'a later claim', pg_temp.event(false, false, '1 hour') || pg_temp.event(null, true), 'event@x.test true claim off'
        ),
        (
            'an event after one that says less, however old', pg_temp.event(null, true) || pg_temp.event(false, null, '1 hour'),
            'event@x.test true claim off'
        ),
        ('a soft-deleted account', 'update auth.users set deleted_at = now() where id = {Greta}', null),
        (
            'an account without an address',
            'update auth.users set email = null where id = {Greta};'
            || pg_temp.identity('1', 'apple', '{"is_private_email": true}'),
            null
        ),
        (
            'an account with no address but an identity''s',
            'update auth.users set email = null where id = {Greta};'
            || pg_temp.identity('1', 'apple', '{"email": "id@x.test", "is_private_email": true}'),
            'id@x.test true claim unknown'
        ),
        (
            'an identity''s address of the relay''s domain, without a claim',
            'update auth.users set email = null where id = {Greta};'
            || pg_temp.identity('1', 'apple', '{"email": "id@privaterelay.appleid.com"}'),
            'id@privaterelay.appleid.com null domain unknown'
        ),
        (
            'an identity''s address of another domain, without a claim',
            pg_temp.identity('1', 'apple', '{"email": "id@x.test"}'), null
        ),
        ('a text that is no address', 'update auth.users set email = ''privaterelay.appleid.com'' where id = {Greta}', null)
) as account (what, prepare, expected);

create function pg_temp.plan(query text)
returns setof text
language plpgsql
as $$
begin
    return query execute 'explain ' || query;
end
$$;
select is_empty(
    $$
        select line
        from pg_temp.plan('select from accountctl.relay_accounts where user_id = gen_random_uuid()') as line
        where line like '%Function Scan%'
    $$,
    'one relay account is not looked for among all'
);

-- Which addresses are the relay's --------------------------------------------------------------------------------------

select is(
    accountctl.is_relay_address(address, claim), expected, format('is_relay_address(%L, %L)', address, claim)
)
from (
    values
        ('a@privaterelay.appleid.com', null, true),
        ('A@PrivateRelay.AppleID.com', null, true),
        ('a@private.icloud.com', null, true),
        ('a@icloud.com', null, false),
        ('a@icloud.com', true, true),
        ('a@privaterelay.appleid.com', false, false),
        ('a@privaterelay.appleid.com.evil.test', null, false),
        ('a@privaterelay.appleid.com.', null, false),
        ('privaterelay.appleid.com@evil.test', null, false),
        ('privaterelay.appleid.com', null, false),
        ('', null, false),
        (null, null, false)
) as example (address, claim, expected);
insert into accountctl.settings (name, value) values ('mail.relay_domains', '["relay.test", "icloud.com"]');
select ok(accountctl.is_relay_address('a@relay.test'), 'the list is a setting');
select ok(not accountctl.is_relay_address('a@icloud.com'), 'icloud.com is never one, whatever the setting says');
update accountctl.settings set value = '["Relay.Test", "iCloud.com"]' where name = 'mail.relay_domains';
select ok(accountctl.is_relay_address('a@relay.test'), 'a domain of the setting in capitals counts');
select ok(not accountctl.is_relay_address('a@icloud.com'), 'icloud.com in capitals is never one either');
select ok(
    not p.prosecdef and p.proconfig = array['search_path=""'] and p.provolatile = 's' and p.proowner = 'postgres'::regrole,
    p.proname || ' is a stable function with the rights of its caller and a fixed search_path'
)
from pg_proc as p
where p.oid in ('accountctl.relay_domains()'::regprocedure, 'accountctl.is_relay_address(text, boolean)'::regprocedure);

-- An account takes what is known of its address along.
delete from auth.users where id = id('Anna');
select is_empty('select from accountctl.relay_addresses', 'nothing of an erased account stays');

select * from finish();
rollback;
