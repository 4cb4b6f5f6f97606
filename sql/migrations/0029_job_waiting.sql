-- accountctl: bundle=core
-- How long has a job really waited? Moving up a priority renews the time by which jobs are ordered, and with it hid the oldest
-- ones from the alarm. What it renewed is kept beside it, and holds as long as nothing else has set the time anew.

alter table accountctl.jobs
    add column aged_at timestamptz,
    add column waiting_since timestamptz;

comment on column accountctl.jobs.aged_at is 'The run_at that moving up a priority has set; waiting_since counts while run_at is that.';
comment on column accountctl.jobs.waiting_since is 'Since when a job that moved up a priority could have run.';
