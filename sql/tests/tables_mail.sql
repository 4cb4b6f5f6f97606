-- What the tables of mail refuse, and what they fill in.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
insert into accountctl.mail_streams (id, name, from_domain, envelope_domain, signing_domain) overriding system value
values (0, 'news', 'shop.test', 'send.shop.test', 'shop.test');

insert into valid
values
    (
        'mail_streams',
        '{"name": "receipts", "from_domain": "shop.test", "envelope_domain": "send.shop.test", "signing_domain": "shop.test"}',
        '{}',
        '{
            "provider_includes": [], "provider_addresses": [], "selectors": [], "standing": {}, "created_at": "00:00:00",
            "changed_at": "00:00:00", "next_check_at": "00:00:00"
        }'
    ),
    (
        'mail_checks',
        '{
            "stream_id": 0, "took": "1 second", "spf": "ok", "dkim": "ok", "reachable": "yes", "conclusion": "ok",
            "is_change": false, "findings": [], "answers": []
        }',
        '{}', '{"checked_at": "00:00:00"}'
    ),
    (
        'relay_addresses', jsonb_build_object('user_id', id('Anna'), 'address', 'a@x'), '{}', '{"forwarding": "unknown"}'
    );

insert into refused
values
    ('mail_streams', '{"name": "a.b"}', 'mail_streams_name_form'),
    ('mail_streams', '{"name": "Upper"}', 'mail_streams_name_form'),
    ('mail_streams', jsonb_build_object('name', repeat('a', 63)), 'nothing'),
    ('mail_streams', jsonb_build_object('name', repeat('a', 64)), 'mail_streams_name_form'),
    ('mail_streams', '{"provider_name": ""}', 'nothing'),
    ('mail_streams', jsonb_build_object('provider_name', repeat('a', 101)), 'mail_streams_provider_length'),
    ('mail_streams', jsonb_build_object('provider_includes', array_fill('a'::text, array[21])), 'mail_streams_provider_length'),
    ('mail_streams', jsonb_build_object('provider_addresses', array_fill('a'::text, array[201])), 'mail_streams_provider_length'),
    ('mail_streams', '{"spf": "fine"}', 'mail_streams_spf_known'),
    ('mail_streams', '{"dkim": "fine"}', 'mail_streams_dkim_known'),
    ('mail_streams', '{"reachable": "maybe"}', 'mail_streams_reachable_known'),
    ('mail_streams', '{"registrations": {}}', 'mail_streams_registrations_form'),
    ('mail_streams', '{"selectors": {}}', 'mail_streams_selectors_form'),
    ('mail_streams', jsonb_build_object('selectors', array_fill('a'::text, array[21])), 'mail_streams_selectors_form'),
    ('mail_streams', '{"standing": []}', 'mail_streams_standing_form'),
    ('mail_checks', '{"stream_id": -1}', 'mail_checks_stream_id_fkey'),
    ('mail_checks', '{"conclusion": "fine"}', 'mail_checks_conclusion_known'),
    ('mail_checks', '{"findings": {}}', 'mail_checks_findings_form'),
    ('mail_checks', '{"answers": {}}', 'mail_checks_answers_form'),
    ('relay_addresses', jsonb_build_object('user_id', id('nobody')), 'relay_addresses_user_id_fkey'),
    ('relay_addresses', '{"address": "Upper@x.test"}', 'relay_addresses_address_form'),
    ('relay_addresses', '{"address": "@x"}', 'relay_addresses_address_form'),
    ('relay_addresses', jsonb_build_object('address', repeat('a', 320)), 'nothing'),
    ('relay_addresses', jsonb_build_object('address', repeat('a', 321)), 'relay_addresses_address_form'),
    ('relay_addresses', '{"forwarding": "on"}', 'relay_addresses_forwarding_dated'),
    ('relay_addresses', jsonb_build_object('forwarding_changed_at', now()), 'relay_addresses_forwarding_dated'),
    (
        'relay_addresses', jsonb_build_object('forwarding', 'maybe', 'forwarding_changed_at', now()),
        'relay_addresses_forwarding_known'
    );
insert into refused
select 'mail_streams', jsonb_build_object(domain, value), 'mail_streams_domains_length'
from unnest(array['from_domain', 'envelope_domain', 'signing_domain']) as domain
cross join unnest(array['', repeat('a', 256)]) as value;

insert into refused_beside
values
    ('mail_streams', '{}', 'mail_streams_name_key'),
    ('relay_addresses', '{}', 'relay_addresses_pkey');

select * from check_tables();

-- A stream takes its checks along.
delete from accountctl.mail_streams where id = 0;
select is_empty('select from accountctl.mail_checks', 'no check stays of a stream that is gone');

select * from finish();
rollback;
