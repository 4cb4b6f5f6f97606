import AccountLifecycle
import Foundation
import Postgres
import TestSupport
import Testing

/// The server's plans for ending sessions use Supabase's own indexes.
@Suite(.timeLimit(.minutes(5))) struct AccountSessionsPlanTests {
    private func explain(_ statement: Statement, generic: Bool, on stage: Stage) async throws -> String {
        try await stage.admin.withTransaction { connection in
            try connection.execute(
                "set local plan_cache_mode = \(unsafeSQL: generic ? "force_generic_plan" : "force_custom_plan")"
            )
            return try connection.query("explain (costs off) \(statement)", as: String.self).joined(separator: "\n")
        }
    }

    /// With fifty thousand people signed in, a sign-out does not scan the sessions or tokens of others.
    @Test func nobodysSignOutReadsTheTokensOfOthers() async throws {
        try await Stage.with { stage in
            try await stage.sql("analyze auth.sessions")
            try await stage.sql("analyze auth.refresh_tokens")
            try await stage.admin.withTransaction { connection in
                // Skips the foreign keys, which would require fifty thousand users.
                try connection.execute("set local session_replication_role = replica")
                try connection.execute(
                    """
                    with session as (
                        insert into auth.sessions (id, user_id)
                        select gen_random_uuid(), gen_random_uuid() from generate_series(1, 50000)
                        returning id, user_id
                    )
                    insert into auth.refresh_tokens (token, user_id, session_id)
                    select gen_random_uuid()::text, user_id::text, id from session
                    """
                )
            }
            let other = UUID()
            for isFresh in [false, true] {
                if isFresh {
                    try await stage.sql("analyze auth.sessions")
                    try await stage.sql("analyze auth.refresh_tokens")
                }
                for generic in [false, true] {
                    for (table, statement) in [
                        ("sessions", AccountSessions.endingSessions(of: other)),
                        ("refresh_tokens", AccountSessions.deletingOldTokens(of: [other])),
                        ("refresh_tokens", AccountSessions.deletingOldTokens(of: (0..<500).map { _ in UUID() })),
                    ] {
                        let plan = try await explain(statement, generic: generic, on: stage)
                        #expect(!plan.contains("Seq Scan on \(table)"), "\(plan)")
                        #expect(plan.contains("Index"), "\(plan)")
                    }
                }
            }
        }
    }
}
