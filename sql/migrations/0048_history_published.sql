-- accountctl: bundle=core
-- A publication of all tables, as many projects have one for Realtime, lets nobody delete from a table whose rows have no identity: no
-- day of the history could be made, and no ended job retried. And jobs that end while a day is made wait for it.

alter table accountctl.job_history_default replica identity full;

do $$
declare
    partition regclass;
begin
    for partition in
        select i.inhrelid::regclass
        from pg_catalog.pg_inherits as i
        where i.inhparent = 'accountctl.job_history'::regclass
    loop
        execute format('alter table %s replica identity full', partition);
    end loop;
end
$$;

-- Makes the partitions of the given days; what the default partition holds for such a day moves along. Returns how many it made.
create or replace function accountctl.prepare_job_history(first_day date, days integer)
returns integer
language plpgsql
set search_path = ''
as $$
declare
    day date;
    partition text;
    made integer := 0;
begin
    for day in select generate_series(first_day, first_day + days - 1, interval '1 day')::date
    loop
        partition := 'job_history_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass('accountctl.' || partition) is not null;
        -- Made apart and then attached, which locks out neither readers nor writers of the other partitions.
        execute format('create table accountctl.%I (like accountctl.job_history including all)', partition);
        execute format('alter table accountctl.%I replica identity full', partition);
        execute format(
            'alter table accountctl.%I add constraint %I check (finished_at >= %L and finished_at < %L)',
            partition, partition || '_day', day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
        );
        -- Or a job that ends between the two would lie in the way of the partition, and take back the days that were made before.
        lock table accountctl.job_history_default in access exclusive mode;
        execute format(
            'with moved as ('
            '    delete from accountctl.job_history_default'
            '    where finished_at >= %L and finished_at < %L'
            '    returning *'
            ')'
            'insert into accountctl.%I select * from moved',
            day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC', partition
        );
        execute format(
            'alter table accountctl.job_history attach partition accountctl.%I for values from (%L) to (%L)',
            partition, day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
        );
        execute format('alter table accountctl.%I drop constraint %I', partition, partition || '_day');
        made := made + 1;
    end loop;
    return made;
end
$$;
