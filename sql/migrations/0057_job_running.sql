-- accountctl: bundle=core
-- How many jobs of a kind run? Each claim under a limit counts them, while it holds the lock of the limit. The index of running jobs
-- led with their worker, which nothing asks for alone, and the count walked over the dead rows of everything that had run since the
-- oldest snapshot. Now it leads with what is counted, as one number in place of a text, and each kind remembers below which lease
-- nothing of it runs any more.
-- Hot table: accountctl.jobs. Workers of the release before walk over a few more running jobs per heartbeat until they are replaced.

drop index accountctl.jobs_running;

-- Two kinds may share a number; a count asks for the kind besides.
create index jobs_running on accountctl.jobs (hashtextextended(kind, 0), lease)
    where state = 'running';

alter table accountctl.job_limits
    add column counted_from bigint not null default 0;

comment on column accountctl.job_limits.counted_from is
    'Claims count the running jobs from this lease on: leases grow, and are given out under the lock of this row. About once a second one counts them all.';
