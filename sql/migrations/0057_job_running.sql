-- accountctl: bundle=core
-- How many jobs of a kind run? Each claim under a limit counts them, while it holds the lock of the limit. The index of running jobs
-- leads with their worker, by which heartbeats and goodbyes ask, and the count walked over the dead rows of everything that had run
-- since the oldest snapshot. An index of its own, for one more entry per claim, leads with what is counted, as one number in place of
-- a text, and each kind remembers below which lease nothing of it runs any more.
-- Hot table: accountctl.jobs.

-- Two kinds may share a number; a count asks for the kind besides. What runs has a worker: with the condition of jobs_running, the
-- smaller of the two, the server would take that one for a count.
create index jobs_running_kind on accountctl.jobs (hashtextextended(kind, 0), lease)
    where worker is not null;

alter table accountctl.job_limits
    add column counted_from bigint not null default 0;

comment on column accountctl.job_limits.counted_from is
    'Claims count the running jobs from this lease on: leases grow, and are given out under the lock of this row but for jobs held by hand. About once a second one counts them all.';
