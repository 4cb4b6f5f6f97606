-- accountctl: bundle=core
-- A failover to a standby that lacks the end of the log, and a restore to an earlier moment, take back what committed transactions
-- wrote, while the processes that wrote it go on: a handler would write its next step onto a database that does not have the one
-- before. Sequences go back, too, and give numbers out again. So a worker's leases hold as long as the database lives the life the
-- worker registered in, and its id is drawn by lot.

create function accountctl.database_life()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return concat_ws(
        '/',
        (pg_control_system()).system_identifier,
        -- A restored dump has another.
        to_regclass('accountctl.workers')::oid,
        -- The timeline that is written now; that of the last checkpoint is the old one for a while after a failover.
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
    );
end;
$$;

comment on function accountctl.database_life() is
    'Which server, copy of these tables and timeline this is: another after a failover and after a restore, save one that puts back the disks as after a crash. For a primary only.';

revoke execute on function accountctl.database_life() from public;

alter table accountctl.workers
    alter column id drop identity,
    add column life text not null default accountctl.database_life();

alter table accountctl.workers
    alter column id set default 100000000000 + floor(random() * 900000000000)::bigint;

comment on column accountctl.workers.life is
    'The database''s life in which it registered; in another it holds nothing, whatever this table says.';

-- By one worker, over and over: each that began used to write its own, and an older release's came to stand.
comment on table accountctl.job_limits is
    'How many jobs of a kind, and of a kind and key, may run at once over all workers. Of the live workers that have the kind, the latest of the newest release keeps here what its code says, accountctl jobs limit what an operator says instead; locked before running jobs are counted, since counting alone lets two claims through.';
