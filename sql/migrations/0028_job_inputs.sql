-- accountctl: bundle=core
-- What enqueue_job takes from an app's own SQL, refused where it would stop the workers or fail without naming its field: a job
-- that is ready since minus infinity makes every claim fail that comes across it.

update accountctl.jobs
set run_at = clock_timestamp()
where not isfinite(run_at);

alter table accountctl.jobs
    add constraint jobs_run_at_finite check (isfinite(run_at));

create or replace function accountctl.enqueue_job(
    kind text,
    args jsonb default '{}',
    queue text default 'default',
    run_at timestamptz default now(),
    priority smallint default 5,
    unique_key text default null,
    limit_key text default null,
    args_version smallint default 1,
    max_attempts smallint default null,
    wake boolean default true
)
returns bigint
language plpgsql
set search_path = ''
as $$
#variable_conflict use_column
declare
    job bigint;
    due boolean := coalesce(run_at, now()) <= now();
begin
    if kind is null or kind !~ '^[a-z][a-z0-9_.-]{0,62}$' then
        raise exception 'kind must be 1 to 63 characters a-z 0-9 _ . - and begin with a letter'
            using errcode = 'invalid_parameter_value', column = 'kind';
    end if;
    if queue is null or queue !~ '^[a-z][a-z0-9_.-]{0,62}$' then
        raise exception 'queue must be 1 to 63 characters a-z 0-9 _ . - and begin with a letter'
            using errcode = 'invalid_parameter_value', column = 'queue';
    end if;
    if args is null or jsonb_typeof(args) <> 'object' then
        raise exception 'args must be a JSON object'
            using errcode = 'invalid_parameter_value', column = 'args';
    end if;
    if octet_length(args::text) > 262144 then
        raise exception 'args must not exceed 262144 bytes'
            using errcode = 'invalid_parameter_value', column = 'args';
    end if;
    if priority is null or priority not between 0 and 9 then
        raise exception 'priority must lie between 0 and 9'
            using errcode = 'invalid_parameter_value', column = 'priority';
    end if;
    if run_at < timestamptz '1970-01-01 00:00:00+00' then
        raise exception 'run_at must not lie before 1970'
            using errcode = 'invalid_parameter_value', column = 'run_at';
    end if;
    if run_at > now() + interval '10 years' then
        raise exception 'run_at must not lie more than ten years ahead'
            using errcode = 'invalid_parameter_value', column = 'run_at';
    end if;
    if length(unique_key) not between 1 and 200 then
        raise exception 'unique_key must be 1 to 200 characters, or null for none'
            using errcode = 'invalid_parameter_value', column = 'unique_key';
    end if;
    if length(limit_key) not between 1 and 200 then
        raise exception 'limit_key must be 1 to 200 characters, or null for none'
            using errcode = 'invalid_parameter_value', column = 'limit_key';
    end if;
    if args_version is null or args_version < 1 then
        raise exception 'args_version must be 1 or more'
            using errcode = 'invalid_parameter_value', column = 'args_version';
    end if;
    if max_attempts < 1 then
        raise exception 'max_attempts must be 1 or more, or null for those of the kind'
            using errcode = 'invalid_parameter_value', column = 'max_attempts';
    end if;
    loop
        -- Waits for an uncommitted job of the same key; if that one is rolled back, ours goes in.
        insert into accountctl.jobs as j
            (kind, args, queue, run_at, priority, unique_key, limit_key, args_version, max_attempts, state)
        values
            (kind, args, queue, coalesce(run_at, now()), priority, unique_key, limit_key, args_version, max_attempts,
                case when due then 'available' else 'scheduled' end::accountctl.job_state)
        on conflict (unique_key) where j.unique_key is not null do nothing
        returning j.id into job;
        if job is not null then
            -- Delivered after commit. Callers with many writers pass false: its lock at commit makes them queue up.
            if wake and due then
                perform pg_notify('accountctl_jobs', queue);
            end if;
            return job;
        end if;
        select j.id into job
        from accountctl.jobs j
        where j.unique_key = enqueue_job.unique_key;
        if job is not null then
            return job;
        end if;
        -- The live one finished between the two statements: try again.
    end loop;
end
$$;

comment on column accountctl.jobs.parked_for is
    'limit: room under a limit; undecodable, newer: a release that reads its arguments; operator: a person.';
