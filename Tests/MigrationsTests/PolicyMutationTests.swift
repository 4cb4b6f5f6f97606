import TestSupport
import Testing

/// The pgTAP tests notice every change of a policy, grant or function.
///
/// Each policy is dropped once and widened once per clause. The matrix of roles, verbs and rows has to fail because of
/// the database's behaviour, without the file that compares the policies' text.
@Suite(.timeLimit(.minutes(5))) struct PolicyMutationTests {
    private static let matrices = ["profiles_rls", "avatars_rls"]

    private static let policies: [(name: String, table: String)] = [
        ("profiles_select", "public.profiles"),
        ("profiles_insert_own", "public.profiles"),
        ("profiles_update_own", "public.profiles"),
        ("profiles_insert_open", "public.profiles"),
        ("profiles_update_open", "public.profiles"),
        ("avatars_select", "storage.objects"),
        ("avatars_insert_own", "storage.objects"),
        ("avatars_update_own", "storage.objects"),
        ("avatars_delete_own", "storage.objects"),
        ("avatars_insert_open", "storage.objects"),
        ("avatars_update_open", "storage.objects"),
    ]

    private static let dropped = policies.map { "drop policy \($0.name) on \($0.table)" }

    private static let widened = [
        "alter policy profiles_select on public.profiles using (true)",
        "alter policy profiles_insert_own on public.profiles with check (true)",
        "alter policy profiles_update_own on public.profiles using (true)",
        "alter policy profiles_update_own on public.profiles with check (true)",
        "alter policy profiles_insert_open on public.profiles with check (true)",
        "alter policy profiles_update_open on public.profiles with check (true)",
        "alter policy avatars_select on storage.objects using (bucket_id = 'avatars')",
        "alter policy avatars_select on storage.objects using (owner_id = (select auth.uid()::text))",
        "alter policy avatars_insert_own on storage.objects with check (bucket_id = 'avatars')",
        "alter policy avatars_insert_own on storage.objects with check (owner_id = (select auth.uid()::text))",
        "alter policy avatars_update_own on storage.objects using (bucket_id = 'avatars')",
        "alter policy avatars_update_own on storage.objects using (owner_id = (select auth.uid()::text))",
        "alter policy avatars_update_own on storage.objects with check (bucket_id = 'avatars')",
        "alter policy avatars_update_own on storage.objects with check (owner_id = (select auth.uid()::text))",
        "alter policy avatars_delete_own on storage.objects using (bucket_id = 'avatars')",
        "alter policy avatars_delete_own on storage.objects using (owner_id = (select auth.uid()::text))",
        "alter policy avatars_insert_open on storage.objects with check (true)",
        "alter policy avatars_update_open on storage.objects with check (true)",
        "alter table public.profiles disable row level security",
        "alter table storage.objects disable row level security",
        "grant select on public.profiles to anon",
        "grant delete on public.profiles to authenticated",
        """
        create or replace function accountctl.account_open() returns boolean language sql stable security definer \
        set search_path = '' as 'select true'
        """,
    ]

    /// Changes that the rows of the matrix cannot show; the test of the exact sets of policies and rights must fail.
    private static let unseen = [
        "alter policy avatars_select on storage.objects to public",
        "alter policy profiles_update_open on public.profiles to anon",
        "create policy more on public.profiles for delete to authenticated using (true)",
        "grant execute on function accountctl.log_operation to public",
        "grant execute on function public.handle_new_user() to anon",
        "grant update (username) on public.profiles to anon",
        "grant select on accountctl.settings to authenticated",
        "drop trigger accountctl_profile_name on auth.users",
    ]

    @Test func everyChangeIsNoticed() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.cluster.psql(
                database: database.name,
                files: [Repository.path("sql/tests/support/helpers.sql")]
            )
            for file in Self.matrices + ["policies"] {
                let failures = try await failures(in: file, after: "select 1", database)
                #expect(failures == 0, "\(file) fails without a change")
            }
            for mutation in Self.dropped + Self.widened {
                var failures = 0
                for file in Self.matrices where failures == 0 {
                    failures = try await self.failures(in: file, after: mutation, database)
                }
                #expect(failures > 0, "no row of the matrix noticed: \(mutation)")
            }
            for mutation in Self.unseen {
                let failures = try await failures(in: "policies", after: mutation, database)
                #expect(failures > 0, "no exact set noticed: \(mutation)")
            }
        }
    }

    /// Runs a pgTAP file after a change and returns the number of failed tests.
    ///
    /// The change is made in the transaction that the file rolls back at its end, so that one database serves all
    /// changes.
    private func failures(in file: String, after mutation: String, _ database: TestDatabase) async throws -> Int {
        let path = Repository.path("sql/tests/\(file).sql")
        do {
            let output = try await TestCluster.command([
                "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database.adminConninfo,
                "-c", "set client_min_messages = error", "-c", "begin", "-c", mutation,
                "-f", path,
            ])
            return output.split(separator: "\n").count { $0.hasPrefix("not ok ") }
        } catch let error as TestSupportError where error.description.contains("psql:\(path)") {
            // The file stopped at an error, which counts as a failure unless the change itself caused it.
            return 1
        }
    }
}
