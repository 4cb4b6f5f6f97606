-- What the tables of deletions refuse, and what they fill in.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select sign_up('Anna');
insert into accountctl.deletion_requests (id, subject_hash, subject_key_id, origin, run_after, legal_deadline)
values (id('request'), sha256('x'), 'k', 'app', now(), now() + interval '1 month');
delete from accountctl.deletion_brakes;
delete from accountctl.deletion_flushes;

insert into valid
values
    (
        'deletion_requests',
        jsonb_build_object('origin', 'app', 'run_after', now(), 'legal_deadline', now() + interval '1 month'),
        jsonb_build_object('user_id', id('Anna')),
        '{
            "state": "requested", "requested_at": "00:00:00", "without_apple": false, "without_identifiers": false,
            "apple_counts": {}, "apple_revoked": {}, "failures": 0, "apple_failures": 0
        }'
    ),
    (
        'deletion_steps', jsonb_build_object('request_id', id('request'), 'step', 'verify'), '{}', '{"runs": 0}'
    ),
    (
        'deletion_receipts',
        jsonb_build_object(
            'request_id', id('request'), 'subject_hash', sha256('x'), 'subject_key_id', 'k', 'document', jsonb_build_object(),
            'seal', sha256('s')
        ),
        '{}', '{"issued_at": "00:00:00"}'
    ),
    (
        'deletion_status_tokens', jsonb_build_object('token_hash', sha256('t'), 'request_id', id('request')), '{}',
        '{"created_at": "00:00:00"}'
    ),
    ('deletion_brakes', '{}', '{"paused_reason": null}', '{"only_row": true}'),
    ('deletion_flushes', jsonb_build_object('flushed_at', now()), '{}', '{"only_row": true}'),
    (
        'holds', '{"reason": "a dispute", "placed_by": "kim"}', jsonb_build_object('user_id', id('Anna')),
        '{"placed_at": "00:00:00"}'
    ),
    (
        'accepted_columns', '{"column_name": "public.notes.body", "reason": "kept by law", "accepted_by": "kim"}', '{}',
        '{"accepted_at": "00:00:00"}'
    ),
    (
        'hash_key_canaries', jsonb_build_object('key_id', '2026-11_B', 'canary', sha256('c')), '{}', '{"created_at": "00:00:00"}'
    );

-- A request that has ended as verified, and one that was cancelled.
create function pg_temp.ended(changes jsonb) returns jsonb language sql as $$
    select jsonb_build_object(
        'state', 'verified', 'locked_out_at', now(), 'finished_at', now(), 'user_id', null, 'subject_hash', sha256('x'),
        'subject_key_id', 'k'
    ) || changes
$$;
create function pg_temp.cancelled() returns jsonb language sql as $$
    select jsonb_build_object('state', 'cancelled', 'finished_at', now())
$$;
insert into refused
values
    ('deletion_requests', '{"origin": "nobody"}', 'deletion_requests_origin'),
    ('deletion_requests', jsonb_build_object('reason', repeat('é', 1000)), 'nothing'),
    ('deletion_requests', jsonb_build_object('reason', repeat('é', 1001)), 'deletion_requests_reason'),
    ('deletion_requests', '{"state": "done"}', 'deletion_requests_state'),
    ('deletion_requests', '{"apple_outcome": "fine"}', 'deletion_requests_apple_outcome'),
    ('deletion_requests', jsonb_build_object('legal_deadline', now()), 'deletion_requests_deadline'),
    ('deletion_requests', '{"user_id": null}', 'deletion_requests_subject'),
    ('deletion_requests', jsonb_build_object('subject_hash', sha256('x'), 'subject_key_id', 'k'), 'deletion_requests_subject'),
    ('deletion_requests', '{"subject_key_id": "k"}', 'deletion_requests_subject_key'),
    ('deletion_requests', '{"sealed_identifiers": "s"}', 'deletion_requests_sealed'),
    ('deletion_requests', '{"sealing_key_id": "k"}', 'deletion_requests_sealed'),
    ('deletion_requests', jsonb_build_object('finished_at', now()), 'deletion_requests_finished'),
    ('deletion_requests', pg_temp.cancelled(), 'nothing'),
    ('deletion_requests', pg_temp.cancelled() - 'finished_at', 'deletion_requests_finished'),
    ('deletion_requests', '{"state": "running"}', 'deletion_requests_begun'),
    ('deletion_requests', '{"state": "residue"}', 'deletion_requests_begun'),
    ('deletion_requests', jsonb_build_object('state', 'settling', 'settle_after', now()), 'deletion_requests_begun'),
    ('deletion_requests', jsonb_build_object('state', 'settling', 'locked_out_at', now()), 'deletion_requests_settling'),
    ('deletion_requests', pg_temp.ended('{}'), 'nothing'),
    ('deletion_requests', pg_temp.ended('{"finished_at": null}'), 'deletion_requests_finished'),
    ('deletion_requests', pg_temp.ended('{"locked_out_at": null}'), 'deletion_requests_begun'),
    ('deletion_requests', pg_temp.ended('{"subject_key_id": null}'), 'deletion_requests_subject_key'),
    (
        'deletion_requests',
        pg_temp.ended(jsonb_build_object('user_id', id('Anna'), 'subject_hash', null, 'subject_key_id', null)),
        'deletion_requests_forgotten'
    ),
    ('deletion_requests', pg_temp.ended('{"reason": "tired"}'), 'deletion_requests_forgotten'),
    (
        'deletion_requests', pg_temp.ended('{"sealed_identifiers": "s", "sealing_key_id": "k"}'), 'deletion_requests_forgotten'
    ),
    ('deletion_steps', '{"step": "other"}', 'deletion_steps_step'),
    ('deletion_steps', '{"runs": -1}', 'deletion_steps_runs'),
    ('deletion_steps', jsonb_build_object('finished_at', now()), 'deletion_steps_finished'),
    ('deletion_steps', '{"outcome": "ok"}', 'deletion_steps_finished'),
    ('deletion_steps', jsonb_build_object('finished_at', now(), 'outcome', 'ok'), 'nothing'),
    ('deletion_steps', jsonb_build_object('finished_at', now(), 'outcome', 'Not ok'), 'deletion_steps_outcome'),
    ('deletion_steps', jsonb_build_object('request_id', id('nobody')), 'deletion_steps_request_id_fkey'),
    ('deletion_receipts', '{"document": []}', 'deletion_receipts_document'),
    ('deletion_receipts', jsonb_build_object('request_id', id('nobody')), 'deletion_receipts_request_id_fkey'),
    ('deletion_status_tokens', '{"token_hash": "\\x00"}', 'deletion_status_tokens_length'),
    ('deletion_status_tokens', jsonb_build_object('request_id', id('nobody')), 'deletion_status_tokens_request_id_fkey'),
    ('deletion_brakes', '{"only_row": false}', 'deletion_brakes_only_row'),
    ('deletion_brakes', jsonb_build_object('paused_at', now()), 'deletion_brakes_paused'),
    ('deletion_brakes', '{"paused_by": "kim"}', 'deletion_brakes_paused'),
    ('deletion_brakes', jsonb_build_object('paused_at', now(), 'paused_by', 'kim'), 'nothing'),
    ('deletion_flushes', '{"only_row": false}', 'deletion_flushes_only_row'),
    ('holds', '{"reason": ""}', 'holds_reason'),
    ('holds', jsonb_build_object('reason', repeat('r', 1001)), 'holds_reason'),
    ('holds', jsonb_build_object('user_id', id('nobody')), 'holds_user_id_fkey'),
    ('holds', '{"user_id": null}', 'holds_released'),
    ('holds', '{"released_by": "kim"}', 'holds_released'),
    ('holds', jsonb_build_object('released_at', now(), 'released_by', 'kim'), 'holds_released'),
    ('holds', jsonb_build_object('released_at', now(), 'user_id', null), 'holds_released'),
    ('holds', jsonb_build_object('released_at', now(), 'released_by', 'kim', 'user_id', null), 'nothing'),
    ('accepted_columns', '{"reason": ""}', 'accepted_columns_reason'),
    ('accepted_columns', jsonb_build_object('reason', repeat('r', 1001)), 'accepted_columns_reason'),
    ('hash_key_canaries', '{"key_id": ""}', 'hash_key_canaries_key_id'),
    ('hash_key_canaries', '{"key_id": "a b"}', 'hash_key_canaries_key_id'),
    ('hash_key_canaries', jsonb_build_object('key_id', repeat('k', 32)), 'nothing'),
    ('hash_key_canaries', jsonb_build_object('key_id', repeat('k', 33)), 'hash_key_canaries_key_id'),
    ('hash_key_canaries', '{"canary": "\\x00"}', 'hash_key_canaries_canary'),
    ('hash_key_canaries', jsonb_build_object('canary', sha512('c')), 'hash_key_canaries_canary');

insert into refused_beside
values
    ('deletion_requests', '{}', 'deletion_requests_open_key'),
    ('deletion_requests', pg_temp.cancelled(), 'nothing'),
    ('deletion_requests', pg_temp.ended('{}') || jsonb_build_object('id', id('request')), 'deletion_requests_pkey'),
    ('deletion_steps', '{}', 'deletion_steps_pkey'),
    ('deletion_receipts', '{}', 'deletion_receipts_request_id_key'),
    ('deletion_status_tokens', '{}', 'deletion_status_tokens_pkey'),
    ('deletion_brakes', '{}', 'deletion_brakes_pkey'),
    ('deletion_flushes', '{}', 'deletion_flushes_pkey'),
    ('holds', '{}', 'nothing'),
    ('accepted_columns', '{}', 'accepted_columns_pkey'),
    -- The first of a name stays: a second key under it is another one, or the same.
    ('hash_key_canaries', jsonb_build_object('canary', sha256('other')), 'hash_key_canaries_pkey');

select * from check_tables();

-- From 18 on a restricting foreign key has a code of its own.
select ok(
    probe('postgres', null, format('delete from auth.users where id = %L', id('Anna'))) in ('23503', '23001'),
    'an account with a hold is deleted by nobody'
);

select * from finish();
rollback;
