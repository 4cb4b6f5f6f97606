/// The SQL that the binary carries: every file of `sql/migrations`, in the order of their numbers.
///
/// The embedded files cannot be listed, so this list names them, and a test compares it with the folder. Their
/// generated names have a `_` in place of a leading digit.
package enum EmbeddedSQL {
    /// One file.
    package struct File: Sendable {
        /// The name with its extension.
        package let name: String
        /// The text, UTF-8.
        package let bytes: @Sendable () -> [UInt8]
    }

    /// All migrations.
    package static let migrations: [File] = [
        File(name: "0001_foundation.sql") { PackageResources._001_foundation_sql },
        File(name: "0002_jobs.sql") { PackageResources._002_jobs_sql },
        File(name: "0003_deletion.sql") { PackageResources._003_deletion_sql },
        File(name: "0004_apple_credentials.sql") { PackageResources._004_apple_credentials_sql },
        File(name: "0005_rpc.sql") { PackageResources._005_rpc_sql },
        File(name: "0006_mail.sql") { PackageResources._006_mail_sql },
        File(name: "0008_credential_life.sql") { PackageResources._008_credential_life_sql },
        File(name: "0010_profiles.sql") { PackageResources._010_profiles_sql },
        File(name: "0011_avatars.sql") { PackageResources._011_avatars_sql },
        File(name: "0012_profiles_username.sql") { PackageResources._012_profiles_username_sql },
        File(name: "0013_profiles_user_key.sql") { PackageResources._013_profiles_user_key_sql },
        File(name: "0014_profiles_validate.sql") { PackageResources._014_profiles_validate_sql },
        File(name: "0015_profiles_names.sql") { PackageResources._015_profiles_names_sql },
        File(name: "0016_job_limits_by_hand.sql") { PackageResources._016_job_limits_by_hand_sql },
        File(name: "0017_job_history_time.sql") { PackageResources._017_job_history_time_sql },
        File(name: "0018_apple_rejections.sql") { PackageResources._018_apple_rejections_sql },
        File(name: "0019_apple_grants.sql") { PackageResources._019_apple_grants_sql },
        File(name: "0020_deletion_requests.sql") { PackageResources._020_deletion_requests_sql },
        File(name: "0021_pruning.sql") { PackageResources._021_pruning_sql },
        File(name: "0022_credential_patience.sql") { PackageResources._022_credential_patience_sql },
        File(name: "0025_hash_key_canaries.sql") { PackageResources._025_hash_key_canaries_sql },
        File(name: "0028_job_inputs.sql") { PackageResources._028_job_inputs_sql },
        File(name: "0029_job_waiting.sql") { PackageResources._029_job_waiting_sql },
        File(name: "0030_status_token_pruning.sql") { PackageResources._030_status_token_pruning_sql },
        File(name: "0032_relay_rule.sql") { PackageResources._032_relay_rule_sql },
        File(name: "0033_operator_role.sql") { PackageResources._033_operator_role_sql },
        File(name: "0034_deletion_flushes.sql") { PackageResources._034_deletion_flushes_sql },
        File(name: "0036_relay_rule_edges.sql") { PackageResources._036_relay_rule_edges_sql },
        File(name: "0037_job_writes.sql") { PackageResources._037_job_writes_sql },
        File(name: "0038_job_books.sql") { PackageResources._038_job_books_sql },
        File(name: "0039_job_indexes.sql") { PackageResources._039_job_indexes_sql },
        File(name: "0040_device_reports.sql") { PackageResources._040_device_reports_sql },
        File(name: "0041_apple_grants_by_client.sql") { PackageResources._041_apple_grants_by_client_sql },
        File(name: "0042_can_send_address.sql") { PackageResources._042_can_send_address_sql },
        File(name: "0043_request_refusals.sql") { PackageResources._043_request_refusals_sql },
        File(name: "0044_deletion_accounts.sql") { PackageResources._044_deletion_accounts_sql },
        File(name: "0046_apple_failures.sql") { PackageResources._046_apple_failures_sql },
        File(name: "0047_inbox_tries.sql") { PackageResources._047_inbox_tries_sql },
        File(name: "0048_history_published.sql") { PackageResources._048_history_published_sql },
        File(name: "0049_apple_rejections_by_key.sql") { PackageResources._049_apple_rejections_by_key_sql },
        File(name: "0053_deletion_status_apple.sql") { PackageResources._053_deletion_status_apple_sql },
        File(name: "0054_definer_paths.sql") { PackageResources._054_definer_paths_sql },
        File(name: "0055_platform_columns.sql") { PackageResources._055_platform_columns_sql },
        File(name: "0056_profiles_sign_up.sql") { PackageResources._056_profiles_sign_up_sql },
        File(name: "0057_job_running.sql") { PackageResources._057_job_running_sql },
        File(name: "0058_relay_reports_log.sql") { PackageResources._058_relay_reports_log_sql },
        File(name: "0059_profiles_sign_up_mark.sql") { PackageResources._059_profiles_sign_up_mark_sql },
        File(name: "0060_inner_paths.sql") { PackageResources._060_inner_paths_sql },
        File(name: "0061_own_deletion.sql") { PackageResources._061_own_deletion_sql },
        File(name: "0062_deletion_status_proof.sql") { PackageResources._062_deletion_status_proof_sql },
        File(name: "0063_apple_step_begun.sql") { PackageResources._063_apple_step_begun_sql },
        File(name: "0064_job_cancel_reason.sql") { PackageResources._064_job_cancel_reason_sql },
        File(name: "0065_deletion_status_left.sql") { PackageResources._065_deletion_status_left_sql },
        File(name: "0067_cancelling_sessions.sql") { PackageResources._067_cancelling_sessions_sql },
        File(name: "0068_worker_life.sql") { PackageResources._068_worker_life_sql },
        File(name: "0069_history_progress.sql") { PackageResources._069_history_progress_sql },
        File(name: "0070_oauth_clients.sql") { PackageResources._070_oauth_clients_sql },
        File(name: "0071_cancelled_requests.sql") { PackageResources._071_cancelled_requests_sql },
        File(name: "0072_report_answers.sql") { PackageResources._072_report_answers_sql },
        File(name: "0073_transfer_subs.sql") { PackageResources._073_transfer_subs_sql },
        File(name: "0074_opening_checked.sql") { PackageResources._074_opening_checked_sql },
        File(name: "0075_code_sessions.sql") { PackageResources._075_code_sessions_sql },
        File(name: "0076_log_programs.sql") { PackageResources._076_log_programs_sql },
        File(name: "0077_given_up_identifiers.sql") { PackageResources._077_given_up_identifiers_sql },
        File(name: "0078_deletion_status_times.sql") { PackageResources._078_deletion_status_times_sql },
        File(name: "0079_accounts_created_later.sql") { PackageResources._079_accounts_created_later_sql },
        File(name: "0080_token_teams.sql") { PackageResources._080_token_teams_sql },
    ]
}
