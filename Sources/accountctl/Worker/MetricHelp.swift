/// One line of help for each metric, which `GET /metrics` prints beside the values.
enum MetricHelp {
    static let texts: [String: String] = [
        "accountctl_figures_timestamp_seconds": "When these figures were last read from the database.",
        "accountctl_mail_check_duration_seconds": "How long a check of this mail stream took.",
        "accountctl_mail_checks_total": "Checks of this mail stream, by what they concluded.",
        "accountctl_mail_path_ok": "Whether this path of the mail stream is in order: 1 yes, 0 no, -1 unknown.",
        "accountctl_mail_stream_reachable": "Whether its mail reaches Apple's relay: 1 yes, 0 no, -1 unknown.",
        "accountctl_mail_verdict_age_seconds": "How long ago the verdict on this mail stream was last confirmed.",
        "accountctl_mail_verdict_changes_total": "Checks that changed the verdict on this mail stream.",
        "apple_client_rejected": "1 while Apple refuses this client id with this team and key.",
        "apple_credential_checks_total": "Held credentials that Apple was asked about, by outcome.",
        "apple_keys_fetch_failures_total": "Failed attempts to fetch the keys that Apple signs with.",
        "apple_notifications_total": "Notifications from Apple, by outcome.",
        "apple_oldest_pending_revocation_seconds":
            "How long the oldest credential of an erased account has waited for Apple to revoke it.",
        "apple_pending_revocations":
            "Credentials that Apple did not revoke before their account was erased; of those that ended, the last 90 days.",
        "apple_web_client_secret_expiry_timestamp_seconds": "When the client secret of web sign-in expires.",
        "deletion_legal_deadline_seconds":
            "Time left to the nearest legal deadline of an open request without a legal hold; a month if there is none.",
        "deletion_oldest_open_seconds": "Age of the oldest open deletion request.",
        "deletion_paused": "1 while every deletion is paused.",
        "deletion_requests_failing": "Open deletion requests that fail again and again, by state.",
        "deletion_requests_open": "Open deletion requests, by state.",
        "deletion_requests_under_hold": "Open deletion requests under a legal hold, by state.",
        "http_client_call_seconds": "Time of a call to Apple, Storage or Supabase, its repeats included.",
        "http_client_calls_total": "Calls to Apple, Storage and Supabase, by HTTP status or what went wrong.",
        "http_client_repeats_total": "Attempts of calls after the first.",
        "jobs_abandoned": "Handlers of this process that still run after losing their job; each occupies a slot.",
        "jobs_dead_rows": "Dead rows of the job table.",
        "jobs_depth": "Unfinished jobs, by queue and state.",
        "jobs_exhausted_total": "Jobs that are never given up and failed in all their usual attempts.",
        "jobs_finished_total":
            "Attempts that ended: completed, cancelled, discarded, retried, snoozed, parked or released.",
        "jobs_history_default_rows":
            "Rows of the job history outside every day's partition: some partitions are missing.",
        "jobs_leases_lost_total": "Handlers stopped, and outcomes refused, since the lease was lost.",
        "jobs_oldest_ready_seconds": "Age of the oldest job that could run.",
        "jobs_oldest_snapshot_seconds": "Age of the oldest transaction that keeps dead rows from being removed.",
        "jobs_oldest_xmin_age":
            "Transactions since the oldest one whose dead rows are kept, standbys and replication slots included.",
        "jobs_overdue_total": "Jobs taken from handlers that did not stop at their deadline.",
        "jobs_queue_paused": "1 while an operator's pause keeps this queue's jobs from running.",
        "jobs_rescued_total": "Jobs taken from lost workers.",
        "jobs_run_seconds": "Time in the handler.",
        "jobs_running": "Jobs that run in this process.",
        "jobs_wait_seconds": "Time from ready to claimed.",
    ]
}
