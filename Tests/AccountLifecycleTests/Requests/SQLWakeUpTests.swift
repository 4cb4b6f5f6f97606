import Postgres
import TestSupport
import Testing

/// The database's own functions notify the workers of what can run now, and of nothing else.
@Suite(.timeLimit(.minutes(5))) struct SQLWakeUpTests {
    @Test func workersAreToldOfAJobThatIsDue() async throws {
        try await TestDatabase.with(.migrated) { database in
            let heard = try await database.heard(on: "accountctl_jobs") {
                for queue in [
                    "'now'", "'past', run_at => now() - interval '1 hour'", "'whenever', run_at => null",
                    "'later', run_at => now() + interval '1 hour'", "'silent', wake => false",
                    "'now', unique_key => 'one'", "'other', unique_key => 'one'",
                ] {
                    try await database.psql("select accountctl.enqueue_job('test.plain', queue => \(queue))")
                }
            }
            #expect(heard == ["now", "past", "whenever", "now"])
        }
    }

    /// A code is worth nothing after five minutes, and the job of a cancelled deletion would stay until grace ends.
    @Test func workersAreToldOfACodeAndOfACancel() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let heard = try await stage.database.heard(on: "accountctl_jobs") {
                _ = try await stage.call(person, "select public.request_account_deletion()")
                _ = try await stage.call(person, "select public.submit_apple_authorization_code('code')")
                _ = try await stage.call(person, "select public.cancel_account_deletion()")
                _ = try await stage.call(person, "select public.cancel_account_deletion()")
            }
            #expect(heard == ["apple", "deletions"])
        }
    }
}
