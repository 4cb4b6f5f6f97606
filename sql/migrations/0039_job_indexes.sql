-- accountctl: bundle=core
-- What a written job costs, once more: each index of the table is opened, and its condition made ready, for each statement that
-- writes. So jobs under which a process died share the claim index with the others of their lane, behind them. A claim of one sorts
-- those of its lane, which are as many as ran beside it; it runs alone, and is in no hurry.
-- Hot table: accountctl.jobs.

drop index accountctl.jobs_claim;
drop index accountctl.jobs_suspects;

create index jobs_claim on accountctl.jobs
    (hashtextextended(kind, hashtextextended(queue, 0)), crashes, priority, run_at, id)
    where state = 'available';
