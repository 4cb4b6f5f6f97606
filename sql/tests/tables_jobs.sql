-- What the tables of jobs refuse, and what they fill in.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

insert into accountctl.workers (id, name, version, expires_at, slots, queues, kinds) values (0, 'w', '1', now(), 1, '{}', '{}');

insert into valid
values
    (
        'jobs', '{"queue": "q", "kind": "k"}', '{"unique_key": "u"}',
        '{
            "lease": 0, "run_at": "00:00:00", "created_at": "00:00:00", "state": "available", "priority": 5, "attempt": 0,
            "crashes": 0, "args_version": 1, "args": {}
        }'
    ),
    (
        'job_history',
        jsonb_build_object(
            'id', 1, 'lease', 1, 'run_at', now(), 'created_at', now(), 'outcome', 'completed', 'priority', 5, 'attempt', 1,
            'crashes', 0, 'args_version', 1, 'queue', 'q', 'kind', 'k', 'args', jsonb_build_object()
        ),
        '{}', '{"finished_at": "00:00:00"}'
    ),
    ('job_limits', '{"kind": "k"}', '{}', '{"updated_at": "00:00:00", "counted_from": 0}'),
    ('queues', '{"name": "q"}', '{}', '{"rate_tokens": 0, "rate_counted_at": "00:00:00", "created_at": "00:00:00"}'),
    ('periodic_slots', jsonb_build_object('name', 'n', 'slot', now()), '{}', '{"created_at": "00:00:00"}'),
    (
        'workers',
        jsonb_build_object(
            'name', 'w', 'version', '1', 'expires_at', now(), 'slots', 1, 'queues', jsonb_build_array(),
            'kinds', jsonb_build_array()
        ),
        '{}',
        jsonb_build_object(
            'started_at', '00:00:00', 'beat_at', '00:00:00', 'running', 0, 'life', accountctl.database_life()
        )
    );

insert into refused
values
    ('job_limits', '{"max_running": 0}', 'job_limits_range'),
    ('job_limits', '{"max_running_per_key": 0}', 'job_limits_range'),
    ('job_limits', '{"set_running": 0}', 'job_limits_set_range'),
    ('job_limits', '{"set_running_per_key": 0}', 'job_limits_set_range'),
    ('queues', '{"name": "Q"}', 'queues_name_form'),
    ('queues', jsonb_build_object('name', repeat('q', 63)), 'nothing'),
    ('queues', jsonb_build_object('name', repeat('q', 64)), 'queues_name_form'),
    ('queues', '{"rate_limit": 1}', 'queues_rate_whole'),
    ('queues', '{"rate_period": "1 second"}', 'queues_rate_whole'),
    ('queues', '{"rate_limit": 1, "rate_period": "1 second"}', 'nothing'),
    ('queues', '{"rate_limit": 1000000, "rate_period": "1 day"}', 'nothing'),
    ('queues', '{"rate_limit": 0, "rate_period": "1 second"}', 'queues_rate_range'),
    ('queues', '{"rate_limit": 1000001, "rate_period": "1 second"}', 'queues_rate_range'),
    ('queues', '{"rate_limit": 1, "rate_period": "0.9 seconds"}', 'queues_rate_period_range'),
    ('queues', '{"rate_limit": 1, "rate_period": "1 day 1 second"}', 'queues_rate_period_range'),
    ('workers', '{"id": 0}', 'workers_pkey'),
    ('workers', '{"slots": 0}', 'workers_slots_positive'),
    ('workers', jsonb_build_object('stopped_at', now()), 'workers_stop_whole'),
    ('workers', '{"stop_reason": "lost"}', 'workers_stop_whole');

insert into refused_beside
values
    ('jobs', '{}', 'jobs_unique_key'),
    ('jobs', '{"unique_key": null}', 'nothing'),
    ('job_limits', '{}', 'job_limits_pkey'),
    ('queues', '{}', 'queues_pkey'),
    ('periodic_slots', '{}', 'periodic_slots_pkey'),
    ('periodic_slots', '{"name": "other"}', 'nothing'),
    ('workers', '{}', 'nothing');

select * from check_tables();

select * from finish();
rollback;
