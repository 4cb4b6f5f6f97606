-- accountctl: bundle=core
-- What a written job costs. For each statement that writes, the server reads all checks of the table anew from the catalog: a fifth
-- of the time of adding one job. Those are gone that repeat what enqueue_job and the program refuse with the field's name, and
-- whose breach would harm no other job; those stay that keep the engine's own books straight, or a job from stopping the workers.
-- And the claim index leads with one number in place of two texts, which each row compared at each level: a third of the time of
-- adding a thousand.
-- Hot table: accountctl.jobs. Workers of the release before claim slowly from it until they are replaced.

alter table accountctl.jobs
    drop constraint jobs_counts_positive,
    drop constraint jobs_names_form,
    drop constraint jobs_keys_form,
    -- No claim would ever find a job with fewer than no crashes.
    add constraint jobs_counts_positive check (attempt >= 0 and crashes >= 0);

drop index accountctl.jobs_claim;

-- Two lanes may share a number; a claim asks for queue and kind besides.
create index jobs_claim on accountctl.jobs (hashtextextended(kind, hashtextextended(queue, 0)), priority, run_at, id)
    where state = 'available' and crashes = 0;
