-- What the tables of Apple's credentials refuse, and what they fill in.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');

insert into valid
values
    (
        'apple_credentials',
        jsonb_build_object(
            'user_id', id('Anna'), 'client_id', 'com.example.app', 'apple_sub', 's', 'sealed_token', 't', 'sealing_key_id', 'k'
        ),
        '{}', '{"obtained_at": "00:00:00", "check_after": "1 day", "doubts": 0}'
    ),
    (
        'apple_identity_marks', jsonb_build_object('user_id', id('Anna'), 'state', 'consent_revoked', 'since', now()), '{}', '{}'
    ),
    (
        'apple_inbox', jsonb_build_object('digest', sha256('b'), 'body', 'b'), '{}',
        '{"received_at": "00:00:00", "tries": 0, "may_yield": false}'
    ),
    (
        'apple_rejections',
        jsonb_build_object('client_id', 'com.example.app', 'team_id', 't', 'key_id', 'k', 'refusal', 'r', 'retry_after', now()),
        '{}', '{"since": "00:00:00"}'
    ),
    (
        'apple_transfers',
        jsonb_build_object(
            'user_id', id('Anna'), 'client_id', 'com.example.app', 'target_team', 'TEAM123456', 'state', 'refused'
        ),
        '{}', '{"updated_at": "00:00:00"}'
    ),
    (
        'authorization_codes', jsonb_build_object('user_id', id('Anna')), '{"code": "c0de"}',
        '{"state": "received", "received_at": "00:00:00", "expires_at": "00:05:00"}'
    ),
    (
        'credential_events', '{"source": "apple", "kind": "consent-revoked"}', '{"notification_id": "n"}',
        '{"happened_at": "00:00:00", "received_at": "00:00:00", "next_try_at": "00:00:00", "tries": 0}'
    ),
    (
        'lost_grants', jsonb_build_object('user_id', id('Anna'), 'client_id', 'com.example.app'), '{}', '{"lost_at": "00:00:00"}'
    ),
    (
        'pending_revocations', jsonb_build_object('client_id', 'com.example.app', 'give_up_at', now()),
        '{"sealed_token": "t", "sealing_key_id": "k"}',
        '{"binding": "a uuid", "state": "waiting", "created_at": "00:00:00", "attempts": 0}'
    ),
    ('sealing_canaries', '{"key_id": "2026-11_B", "canary": "c"}', '{}', '{"created_at": "00:00:00"}');

insert into refused
select relation, jsonb_build_object('client_id', client_id), case when is_form then 'nothing' else relation || '_client_id' end
from unnest(
    array[
        'apple_credentials', 'apple_rejections', 'apple_transfers', 'authorization_codes', 'credential_events', 'lost_grants',
        'pending_revocations'
    ]
) as relation
cross join (
    values (repeat('a', 255), true), (repeat('a', 256), false), ('', false), ('a/b', false)
) as client (client_id, is_form);
insert into refused
select relation, jsonb_build_object('user_id', id('nobody')), relation || '_user_id_fkey'
from unnest(
    array[
        'apple_credentials', 'apple_identity_marks', 'apple_transfers', 'authorization_codes', 'credential_events', 'lost_grants'
    ]
) as relation;
insert into refused
values
    ('apple_credentials', '{"team_id": "TEAM12345"}', 'apple_credentials_team_id'),
    ('apple_identity_marks', '{"state": "moved"}', 'apple_identity_marks_state'),
    ('apple_inbox', '{"body": ""}', 'apple_inbox_body'),
    ('apple_inbox', jsonb_build_object('body', repeat('b', 32769)), 'apple_inbox_body'),
    ('apple_inbox', '{"digest": "\\x00"}', 'apple_inbox_digest'),
    ('apple_transfers', '{"target_team": "TEAM12345"}', 'apple_transfers_target_team'),
    ('apple_transfers', '{"target_team": "TEAM1234567"}', 'apple_transfers_target_team'),
    ('apple_transfers', '{"state": "generated"}', 'apple_transfers_identifier'),
    ('apple_transfers', '{"state": "generated", "transfer_identifier": "i"}', 'nothing'),
    ('apple_transfers', '{"state": "moved", "transfer_identifier": "i"}', 'apple_transfers_state'),
    ('apple_transfers', '{"state": "exchanged", "transfer_identifier": "i"}', 'apple_transfers_new_sub'),
    ('apple_transfers', '{"state": "applied", "transfer_identifier": "i"}', 'apple_transfers_new_sub'),
    ('apple_transfers', '{"state": "conflict", "transfer_identifier": "i"}', 'apple_transfers_new_sub'),
    ('authorization_codes', '{"code": ""}', 'authorization_codes_code'),
    ('authorization_codes', jsonb_build_object('code', repeat('c', 2049)), 'authorization_codes_code'),
    ('authorization_codes', '{"redirect_uri": ""}', 'authorization_codes_redirect_uri'),
    ('authorization_codes', jsonb_build_object('redirect_uri', repeat('u', 2049)), 'authorization_codes_redirect_uri'),
    ('authorization_codes', '{"code": null}', 'authorization_codes_wiped'),
    ('authorization_codes', jsonb_build_object('state', 'exchanged', 'settled_at', now()), 'authorization_codes_wiped'),
    ('authorization_codes', '{"state": "exchanged", "code": null}', 'authorization_codes_settled'),
    ('authorization_codes', jsonb_build_object('settled_at', now()), 'authorization_codes_settled'),
    (
        'authorization_codes', jsonb_build_object('state', 'done', 'code', null, 'settled_at', now()), 'authorization_codes_state'
    ),
    ('credential_events', '{"kind": "Consent"}', 'credential_events_kind'),
    ('credential_events', jsonb_build_object('kind', repeat('k', 65)), 'credential_events_kind'),
    ('credential_events', '{"source": "nobody", "notification_id": null}', 'credential_events_source'),
    ('credential_events', '{"notification_id": null}', 'credential_events_notification'),
    ('credential_events', '{"source": "device"}', 'credential_events_notification'),
    ('credential_events', jsonb_build_object('handled_at', now()), 'credential_events_handled'),
    ('credential_events', '{"outcome": "done"}', 'credential_events_handled'),
    ('pending_revocations', jsonb_build_object('request_id', id('nobody')), 'pending_revocations_request_id_fkey'),
    ('pending_revocations', '{"team_id": "TEAM12345"}', 'pending_revocations_team_id'),
    ('pending_revocations', '{"sealing_key_id": null}', 'pending_revocations_key'),
    ('pending_revocations', '{"sealed_token": null, "sealing_key_id": null}', 'pending_revocations_wiped'),
    ('pending_revocations', jsonb_build_object('state', 'revoked', 'settled_at', now()), 'pending_revocations_wiped'),
    ('pending_revocations', jsonb_build_object('settled_at', now()), 'pending_revocations_settled'),
    (
        'pending_revocations', '{"state": "revoked", "sealed_token": null, "sealing_key_id": null}', 'pending_revocations_settled'
    ),
    (
        'pending_revocations',
        jsonb_build_object('state', 'done', 'sealed_token', null, 'sealing_key_id', null, 'settled_at', now()),
        'pending_revocations_state'
    ),
    ('sealing_canaries', '{"key_id": "a b"}', 'sealing_canaries_key_id'),
    ('sealing_canaries', '{"key_id": ""}', 'sealing_canaries_key_id'),
    ('sealing_canaries', jsonb_build_object('key_id', repeat('k', 33)), 'sealing_canaries_key_id');

insert into refused_beside
values
    ('apple_credentials', '{}', 'apple_credentials_account_key'),
    ('apple_credentials', '{"client_id": "com.example.web"}', 'nothing'),
    ('apple_identity_marks', '{}', 'apple_identity_marks_pkey'),
    ('apple_inbox', '{}', 'apple_inbox_digest_key'),
    ('apple_rejections', '{}', 'apple_rejections_pkey'),
    ('apple_rejections', '{"key_id": "k2"}', 'nothing'),
    ('apple_transfers', '{}', 'apple_transfers_account_key'),
    ('apple_transfers', '{"target_team": "TEAM654321"}', 'nothing'),
    ('credential_events', '{}', 'credential_events_notification_key'),
    ('lost_grants', '{}', 'lost_grants_pkey'),
    ('sealing_canaries', '{}', 'sealing_canaries_pkey');

select * from check_tables();

select * from finish();
rollback;
