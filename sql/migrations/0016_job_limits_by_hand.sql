-- accountctl: bundle=core
-- Limits of a kind that an operator sets, next to those that come with the code.

alter table accountctl.job_limits
    add column set_running integer,
    add column set_running_per_key integer,
    add constraint job_limits_set_range check (set_running > 0 and set_running_per_key > 0);

comment on table accountctl.job_limits is
    'How many jobs of a kind, and of a kind and key, may run at once over all workers. Each worker writes what its code says when it starts, accountctl jobs limit what an operator says instead; locked before running jobs are counted, since counting alone lets two claims through.';
comment on column accountctl.job_limits.max_running is
    'Running jobs of the kind at most, as the code says; null for any number.';
comment on column accountctl.job_limits.max_running_per_key is
    'Running jobs of the kind with one limit_key at most, as the code says; null for any number.';
comment on column accountctl.job_limits.set_running is 'Set by an operator: counts instead of max_running.';
comment on column accountctl.job_limits.set_running_per_key is
    'Set by an operator: counts instead of max_running_per_key.';
