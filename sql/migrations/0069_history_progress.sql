-- accountctl: bundle=core
-- How far was a job that ended? What its handler had said about that was lost with its row: nobody saw where one stood that was given
-- up, and one that was tried again began from nothing. It is kept beside the output now. A release before this one ends jobs without.
-- Hot table: accountctl.job_history, each of its days.

alter table accountctl.job_history
    add column progress jsonb;

comment on column accountctl.job_history.progress is
    'What the handler had last said about how far it was; goes back to the job when that is tried again.';
