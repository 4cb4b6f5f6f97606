-- accountctl: bundle=core
-- What a written job costs, once more. The server reads the text of every check anew for each statement that writes: two fifths of
-- its work of adding one job. So the table has none any more. New jobs come from enqueue_job and the program, which refuse by field;
-- what a hand may write besides stops no worker (a time without end included), and no write of the engine relies on a check: the
-- tests put the checks back, and run under them.
-- Hot table: accountctl.jobs.

alter table accountctl.jobs
    drop constraint jobs_counts_positive,
    drop constraint jobs_parked_why,
    drop constraint jobs_priority_range,
    drop constraint jobs_run_at_finite,
    drop constraint jobs_running_held;
