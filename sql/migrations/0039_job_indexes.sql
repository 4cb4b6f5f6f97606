-- accountctl: bundle=core
-- What a written job costs, once more: each index of the table is opened, and its condition made ready, for each statement that
-- writes. Jobs under which a process died share the claim index with the others, behind how often that was; their claim takes those
-- it was least often first. The condition of the parked ones is the cheapest to test that tells them.
-- Hot table: accountctl.jobs. Workers of the release before claim slowly from it until they are replaced.

drop index accountctl.jobs_claim;
drop index accountctl.jobs_suspects;
drop index accountctl.jobs_parked;

create index jobs_claim on accountctl.jobs
    (hashtextextended(kind, hashtextextended(queue, 0)), crashes, priority, run_at, id)
    where state = 'available';

create index jobs_parked on accountctl.jobs (kind, limit_key, priority, run_at, id)
    where parked_for is not null;
