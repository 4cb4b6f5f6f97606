-- accountctl: bundle=core
-- Why is a running job to stop? Whoever cancelled a job that waited was quoted in its history, whoever cancelled one that ran was not:
-- it ends later, by the hand of its worker. What was said stays with the job until then.
-- Hot table: accountctl.jobs.

alter table accountctl.jobs
    add column cancel_reason text;

comment on column accountctl.jobs.cancel_reason is 'Why a running job was asked to stop; its reason in job_history once it ended as cancelled.';
