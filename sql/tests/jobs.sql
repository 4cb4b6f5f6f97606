-- What enqueue_job takes, what the history keeps of a job, its days and how far its handler was, and how workers stand.
begin;
set local search_path = public, tap, tests;
select * from no_plan();

select is(
    (
        select string_agg(c.oid::regclass::text, ', ')
        from pg_class as c
        where c.relnamespace = 'accountctl'::regnamespace
          and c.relname ~ '^job_history(_[0-9]{8}|_default)?$'
          and c.relkind in ('r', 'p')
          and not exists (
              select
              from pg_attribute as a
              where a.attrelid = c.oid
                and a.attname = 'progress'
                and a.atttypid = 'jsonb'::regtype
                and not a.attnotnull
          )
    ),
    null,
    'every partition of the history has the column progress'
);

-- As the statement of a release that knows no such column.
select lives_ok(
    $$
        insert into accountctl.job_history (
            id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, finished_at
        )
        values (1, 1, now(), now(), 'discarded', 5, 1, 0, 1, 'q', 'k', '{}', '2020-01-01 12:00 Z')
    $$,
    'a release that does not know progress writes the history'
);
insert into accountctl.job_history (
    id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, output, errors,
    progress, finished_at
)
values (
    2, 2, now(), now(), 'discarded', 5, 1, 0, 1, 'q', 'k', '{"a": 1}', '{"o": 1}', '[{"error": "e"}]', '{"done": 3}',
    '2020-01-01 12:00 Z'
);
-- The first and the last instant of the day, and the first of the next.
insert into accountctl.job_history (
    id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, finished_at
)
select 2 + n, 2 + n, now(), now(), 'discarded', 5, 1, 0, 1, 'q', 'k', '{}', finished_at
from unnest(
    array['2020-01-01 00:00 Z', '2020-01-01 23:59:59.999999 Z', '2020-01-02 00:00 Z']::timestamptz[]
) with ordinality as ended (finished_at, n);
select is(accountctl.prepare_job_history('2020-01-01', 1), 1, 'a partition is made for a day whose jobs have ended');
select results_eq(
    'select id, tableoid::regclass::text from accountctl.job_history where finished_at < ''2020-02-01'' order by id',
    $$
        values
            (1::bigint, 'accountctl.job_history_20200101'), (2, 'accountctl.job_history_20200101'),
            (3, 'accountctl.job_history_20200101'), (4, 'accountctl.job_history_20200101'),
            (5, 'accountctl.job_history_default')
    $$,
    'the new partition takes the jobs that ended in its day'
);
select results_eq(
    'select id, args, output, errors, progress from accountctl.job_history_20200101 where id <= 2 order by id',
    $$
        values
            (1::bigint, '{}'::jsonb, null::jsonb, null::jsonb, null::jsonb),
            (2, '{"a": 1}', '{"o": 1}', '[{"error": "e"}]', '{"done": 3}')
    $$,
    'a job that moves to the new partition keeps all its values'
);
select is(
    accountctl.prepare_job_history('2020-01-01', 4), 3, 'of four days the three that are missing are made'
);
select is(
    (
        select string_agg(right(c.relname, 8), ' ' order by c.relname)
        from pg_class as c
        where c.relname like 'job\_history\_202001__'
          and c.relreplident = 'f'
          and not exists (select from pg_constraint as k where k.conrelid = c.oid and k.contype = 'c')
          and (select count(*) from pg_index as i where i.indrelid = c.oid)
              = (select count(*) from pg_index as i where i.indrelid = 'accountctl.job_history'::regclass)
    ),
    '20200101 20200102 20200103 20200104',
    'each partition has replica identity full, every index and no check constraint'
);

select is(accountctl.prune_job_history('2020-01-03 00:00 Z', 1), array['job_history_20200101'], 'the oldest day goes first');
select is(
    accountctl.prune_job_history('2020-01-03 00:00 Z', 7), array['job_history_20200102'],
    'of the others only the day that is over goes'
);
select is(accountctl.prune_job_history('2020-01-03 23:59:59 Z', 7), '{}', 'a day that is not over stays');
select is(to_regclass('accountctl.job_history_20200102'), null, 'the table of a day that went is gone');
select accountctl.prune_job_history('infinity', 1000);
select is(
    array(select inhrelid::regclass::text from pg_inherits where inhparent = 'accountctl.job_history'::regclass),
    array['accountctl.job_history_default'], 'the default partition is never pruned'
);

-- What enqueue_job takes -----------------------------------------------------------------------------------------------

create function pg_temp.enqueued(arguments text) returns text language plpgsql as $$
declare
    argument text;
begin
    execute format('select accountctl.enqueue_job(%s)', arguments);
    return 'accepted';
exception
    when invalid_parameter_value then
        get stacked diagnostics argument = column_name;
        return argument;
end
$$;
select is(pg_temp.enqueued(arguments), expected, format('enqueue_job(%s)', arguments))
from (
    values
        ('null', 'kind'),
        ('''K''', 'kind'),
        ('repeat(''k'', 63)', 'accepted'),
        ('repeat(''k'', 64)', 'kind'),
        ('''k'', queue => null', 'queue'),
        ('''k'', queue => ''1''', 'queue'),
        ('''k'', queue => repeat(''q'', 63)', 'accepted'),
        ('''k'', queue => repeat(''q'', 64)', 'queue'),
        ('''k'', args => null', 'args'),
        ('''k'', args => ''[]''', 'args'),
        ('''k'', args => ''null''', 'args'),
        ('''k'', args => jsonb_build_object(''a'', repeat(''x'', 262144 - 9))', 'accepted'),
        ('''k'', args => jsonb_build_object(''a'', repeat(''x'', 262144 - 8))', 'args'),
        ('''k'', priority => null', 'priority'),
        ('''k'', priority => -1::smallint', 'priority'),
        ('''k'', priority => 0::smallint', 'accepted'),
        ('''k'', priority => 9::smallint', 'accepted'),
        ('''k'', priority => 10::smallint', 'priority'),
        ('''k'', run_at => null', 'accepted'),
        ('''k'', run_at => ''-infinity''', 'run_at'),
        ('''k'', run_at => ''1969-12-31 23:59:59 Z''', 'run_at'),
        ('''k'', run_at => ''1970-01-01 Z''', 'accepted'),
        ('''k'', run_at => now() + interval ''10 years''', 'accepted'),
        ('''k'', run_at => now() + interval ''10 years 1 second''', 'run_at'),
        ('''k'', run_at => ''infinity''', 'run_at'),
        ('''k'', unique_key => ''''', 'unique_key'),
        ('''k'', unique_key => repeat(''u'', 200)', 'accepted'),
        ('''k'', unique_key => repeat(''u'', 201)', 'unique_key'),
        ('''k'', limit_key => ''''', 'limit_key'),
        ('''k'', limit_key => repeat(''l'', 200)', 'accepted'),
        ('''k'', limit_key => repeat(''l'', 201)', 'limit_key'),
        ('''k'', args_version => null', 'args_version'),
        ('''k'', args_version => 0::smallint', 'args_version'),
        ('''k'', max_attempts => 0::smallint', 'max_attempts'),
        ('''k'', max_attempts => 1::smallint', 'accepted')
) as call (arguments, expected);

select accountctl.enqueue_job(
    'all.given', '{"a": 1}', 'q', now() + interval '1 hour', 3::smallint, 'u', 'l', 2::smallint, 4::smallint
);
select accountctl.enqueue_job('none.given');
select accountctl.enqueue_job('now.given', run_at => now());
select accountctl.enqueue_job('null.given', run_at => null);
select results_eq(
    $$
        select row(kind, args, queue, run_at, priority, unique_key, limit_key, args_version, max_attempts, state)::text
        from accountctl.jobs
        where kind like '%.given'
        order by kind
    $$,
    $$
        values
            (row('all.given', '{"a": 1}'::jsonb, 'q', now() + interval '1 hour', 3, 'u', 'l', 2, 4, 'scheduled')::text),
            (row('none.given', '{}', 'default', now(), 5, null, null, 1, null, 'available')::text),
            (row('now.given', '{}', 'default', now(), 5, null, null, 1, null, 'available')::text),
            (row('null.given', '{}', 'default', now(), 5, null, null, 1, null, 'available')::text)
    $$,
    'a job is stored as it was given'
);
select is(
    accountctl.enqueue_job('another.kind', unique_key => 'u'), (select id from accountctl.jobs where kind = 'all.given'),
    'where a key has a live job, its id is returned instead'
);

-- How workers stand ----------------------------------------------------------------------------------------------------

insert into accountctl.workers (name, version, slots, queues, kinds, beat_at, expires_at, stopping_at, stopped_at, stop_reason)
select name, '1', 1, '{}', '{}', now() - interval '10 seconds', now() + expires, stopping, stopped, reason
from (
    values
        ('beats', interval '1 hour', null::timestamptz, null::timestamptz, null),
        ('ends', '1 hour', now(), null, null),
        ('ended', '-1 hour', now(), now(), 'shutdown'),
        ('was silent', '-1 hour', now(), null, null),
        ('was found lost', '-1 hour', null, now(), 'lost')
) as worker (name, expires, stopping, stopped, reason);
select is(
    (select string_agg(format('%s: %s', name, status), ', ' order by name) from accountctl.worker_status),
    'beats: alive, ended: shutdown, ends: stopping, was found lost: lost, was silent: silent',
    'worker_status tells each state of a worker'
);
select ok(
    bool_and(seconds_since_beat between 10 and 10 + extract(epoch from clock_timestamp() - now())),
    'worker_status tells how long ago each worker beat'
)
from accountctl.worker_status;

select * from finish();
rollback;
