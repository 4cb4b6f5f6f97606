/// The invariants of the job table, as check constraints.
///
/// Deployments do not have these constraints: the server reads them again for each statement that writes, and they
/// cost two fifths of the time to add a job. Every test of the engine runs with them instead.
enum JobBooks {
    static let checks = """
        alter table accountctl.jobs
            add constraint jobs_counts_positive check (
                attempt >= 0 and crashes >= 0 and max_attempts > 0 and args_version > 0
            ),
            add constraint jobs_priority_range check (priority between 0 and 9),
            add constraint jobs_run_at_finite check (isfinite(run_at)),
            add constraint jobs_running_held check ((state = 'running') = (worker is not null)),
            add constraint jobs_parked_why check ((state = 'parked') = (parked_for is not null)),
            add constraint jobs_names_form check (length(queue) between 1 and 63 and length(kind) between 1 and 63),
            add constraint jobs_keys_form check (
                length(unique_key) between 1 and 200 and length(limit_key) between 1 and 200
            )
        """
}
