-- What the history keeps of a job: the days it lies in, and how far its handler was.
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
    'every day of the history has room for how far a job was'
);

-- As the statement of a release that knows no such column.
select lives_ok(
    $$
        insert into accountctl.job_history (
            id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, finished_at
        )
        values (1, 1, now(), now(), 'discarded', 5, 1, 0, 1, 'q', 'k', '{}', '2020-01-01 12:00 Z')
    $$,
    'a job ends without it'
);
insert into accountctl.job_history (
    id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, output, errors,
    progress, finished_at
)
values (
    2, 2, now(), now(), 'discarded', 5, 1, 0, 1, 'q', 'k', '{"a": 1}', '{"o": 1}', '[{"error": "e"}]', '{"done": 3}',
    '2020-01-01 12:00 Z'
);
select is(accountctl.prepare_job_history('2020-01-01', 1), 1, 'a day is made after its jobs have ended');
select results_eq(
    'select id, args, output, errors, progress from accountctl.job_history_20200101 order by id',
    $$
        values
            (1::bigint, '{}'::jsonb, null::jsonb, null::jsonb, null::jsonb),
            (2, '{"a": 1}', '{"o": 1}', '[{"error": "e"}]', '{"done": 3}')
    $$,
    'each column of a job that moves there keeps its own'
);

select * from finish();
rollback;
