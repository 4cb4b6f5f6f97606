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
select is(accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', true, now()), true, 'a newer one does');
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

-- The account was made with a relay address, and its person has given another one since.
select accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', false, now());
update auth.users set email = 'X1@privaterelay.appleid.com' where id = id('Anna');
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'the same address in capitals');
update auth.users set email = 'anna@example.com' where id = id('Anna');
select is(pg_temp.ask('Anna'), 'yes: not a relay address', 'a real address since');
update auth.users set email = 'x2@privaterelay.appleid.com' where id = id('Anna');
select is(
    pg_temp.ask('Anna'), 'yes: the relay takes mail of this stream: SPF ok, DKIM broken',
    'another relay address, of whose forwarding nothing is known'
);
update auth.users set email = null where id = id('Anna');
select is(pg_temp.ask('Anna'), 'no: the person has switched forwarding off', 'no address but the one that Apple told');
update auth.users set email = 'x1@privaterelay.appleid.com' where id = id('Anna');
select accountctl.note_relay_address(id('Anna'), 'x1@privaterelay.appleid.com', true, now());

update accountctl.mail_streams set confirmed_at = now() - interval '8 days';
select matches(pg_temp.ask('Anna'), '^unknown: .* older than a week', 'a verdict that was not confirmed for a week');
update accountctl.mail_streams set confirmed_at = now(), reachable = 'no', spf = 'broken';
select matches(pg_temp.ask('Anna'), '^no: the relay does not take', 'a broken stream');
update accountctl.mail_streams set reachable = 'unknown';
select matches(pg_temp.ask('Anna'), '^unknown: it could not be told', 'a stream nobody can tell of');
update accountctl.mail_streams set reachable = null;
select matches(pg_temp.ask('Anna'), '^unknown: .* checked twice', 'a new stream');

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

select is(accountctl.is_relay_address(address, claim), expected, coalesce(address, 'null') || ' ' || coalesce(claim::text, ''))
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
select ok(accountctl.is_relay_address('a@relay.test'), 'in capitals or not');
select ok(not accountctl.is_relay_address('a@icloud.com'), 'nor in capitals');
select ok(
    not p.prosecdef and p.proconfig = array['search_path=""'] and p.provolatile = 's' and p.proowner = 'postgres'::regrole,
    p.proname || ' is a stable function with the rights of its caller and a fixed search_path'
)
from pg_proc as p
where p.oid in ('accountctl.relay_domains()'::regprocedure, 'accountctl.is_relay_address(text, boolean)'::regprocedure);

-- What the tables refuse -----------------------------------------------------------------------------------------------

select is(probe('postgres', null, statement), '23514', 'refused: ' || statement)
from (
    values
        ('update accountctl.mail_streams set name = ''a.b'''),
        ('update accountctl.mail_streams set name = ''Upper'''),
        ('update accountctl.mail_streams set from_domain = repeat(''a'', 256)'),
        ('update accountctl.mail_streams set envelope_domain = '''''),
        ('update accountctl.mail_streams set spf = ''fine'''),
        ('update accountctl.mail_streams set reachable = ''maybe'''),
        ('update accountctl.mail_streams set selectors = ''{}'''),
        ('update accountctl.mail_streams set standing = ''[]'''),
        ('update accountctl.relay_addresses set address = ''Upper@x.test'''),
        ('update accountctl.relay_addresses set forwarding = ''unknown'''),
        ('update accountctl.relay_addresses set forwarding = ''maybe''')
) as act (statement);

-- An account takes what is known of its address along.
delete from auth.users where id = id('Anna');
select is_empty('select from accountctl.relay_addresses', 'nothing of an erased account stays');

select * from finish();
rollback;
