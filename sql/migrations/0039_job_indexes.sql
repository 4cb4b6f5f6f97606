-- accountctl: bundle=core
-- What a written job costs, once more: each index of the table is opened, and its condition made ready, for each statement that
-- writes. So there are four partial ones in place of six.
-- Hot table: accountctl.jobs. Workers of the release before claim slowly from it until they are replaced.

drop index accountctl.jobs_claim;
drop index accountctl.jobs_suspects;
drop index accountctl.jobs_due;
drop index accountctl.jobs_running;
drop index accountctl.jobs_parked;

-- Which job next? Those under which a process died lie behind the others of their lane, the more often the further.
create index jobs_claim on accountctl.jobs
    (hashtextextended(kind, hashtextextended(queue, 0)), crashes, priority, run_at, id)
    where state = 'available';
-- What has become due? What runs? That is never more than all workers have slots, and need not be told apart by worker.
create index jobs_aside on accountctl.jobs (state, run_at)
    where state <> 'available';
-- What may go on when a limit has room again, or when an operator says so? The cheapest condition to test that tells them.
create index jobs_parked on accountctl.jobs (kind, limit_key, priority, run_at, id)
    where parked_for is not null;
