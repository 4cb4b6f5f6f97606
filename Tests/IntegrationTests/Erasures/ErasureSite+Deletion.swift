import TestSupport

extension ErasureSite {
    func deletion(_ words: [String], _ settings: [String: String] = [:]) async throws
        -> AccountctlProcess.Result
    {
        try await AccountctlProcess(["deletion"] + words, environment: variables.merging(settings) { $1 }).result()
    }

    /// The id of the open request.
    func request() async throws -> String {
        try await database.psql("select id from accountctl.deletion_requests where finished_at is null")
    }

    /// Makes the open request, or a new request of the account `user`, report residue in two columns.
    func leaveResidue(of user: String? = nil) async throws {
        let situation = """
            '{"code": "residue", "findings": [
                {"column": "public.notes.body", "identifiers": ["email"], "count": 1},
                {"column": "public.invoices.buyer", "identifiers": ["email"], "count": 2}
            ]}'
            """
        try await database.psql(
            user.map { user in
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, situation, situation_since, run_after, legal_deadline, locked_out_at
                )
                values (
                    '\(user)', 'app', 'residue', \(situation), now(), now(), now() + interval '1 month', now()
                )
                """
            }
                ?? """
                update accountctl.deletion_requests
                set state = 'residue', situation = \(situation), situation_since = now(), locked_out_at = now()
                """
        )
    }

    /// A hash over all rows that a command could change.
    func everything() async throws -> String {
        try await database.psql(
            """
            select md5(string_agg(r, ',' order by r))
            from (
                select t::text as r from accountctl.deletion_requests as t
                union all
                select t::text from accountctl.deletion_steps as t
                union all
                select t::text from accountctl.deletion_brakes as t
                union all
                select t::text from accountctl.accepted_columns as t
                union all
                select t::text from accountctl.operator_log as t
                union all
                select t::text from accountctl.jobs as t
                union all
                select t::text from auth.users as t
                union all
                select t::text from storage.objects as t
            ) as rows
            """
        )
    }
}
