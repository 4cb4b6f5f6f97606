import TestSupport
import Testing

@Suite("Proceeding without Apple or without identifiers", .timeLimit(.minutes(5)))
struct DeletionProceedTests {
    @Test("Identifiers that are not lost cannot be given up")
    func nothingLost() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            for consent in ["--dry-run", "--confirm=\(request)"] {
                let result = try await site.deletion(["proceed", request, "--without-identifiers", consent])
                #expect(result.status == 6 && result.errors.contains("none of them is lost"), "\(result)")
            }
            // The question says what is given up.
            for (flags, what) in [
                (["--without-apple"], "without Apple?"),
                (["--without-identifiers"], "without its identifiers, which cannot be reversed?"),
                (["--without-apple", "--without-identifiers"], "without Apple and its identifiers, which cannot"),
            ] {
                let asked = try await site.deletion(["proceed", request] + flags)
                #expect(asked.status == 2 && asked.errors.contains(what), "\(asked)")
            }
            let given = "select bool_or(without_identifiers) from accountctl.deletion_requests"
            #expect(try await site.database.psql(given) == "f")
        }
    }

    @Test("Only a request that Apple or a missing sealing key holds up can proceed without Apple")
    func notHeldUpByApple() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let given = "select without_apple from accountctl.deletion_requests"
            func stand(_ state: String, _ situation: String?) async throws {
                try await site.database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = '\(state)',
                        situation = \(situation.map { "'{\"code\": \"\($0)\"}'" } ?? "null"),
                        locked_out_at = case when '\(state)' = 'running' then now() end,
                        without_apple = false
                    """
                )
            }
            let others: [(state: String, situation: String?)] = [
                ("grace", nil), ("requested", nil), ("held", "ceiling"), ("held", "paused"),
                ("blocked", "blocking_rows"), ("running", nil), ("running", "failing"),
            ]
            for (state, situation) in others {
                try await stand(state, situation)
                for consent in ["--dry-run", "--confirm=\(request)"] {
                    let told = try await site.deletion(["proceed", request, "--without-apple", consent])
                    #expect(told.status == 6, "\(state): \(told)")
                    #expect(told.errors.contains("neither Apple nor a missing sealing key"), "\(state): \(told)")
                    #expect(try await site.database.psql(given) == "f", "\(state)")
                }
            }
            let plain = try await site.deletion(["show", request, "--json", "without_apple"])
            #expect(plain.output.contains("false"), "\(plain)")
            for (state, situation) in [
                ("waiting_for_apple", "apple_misconfigured"), ("running", "apple_unreachable"),
                ("running", "sealing_key_missing"), ("blocked", "sealing_key_missing"),
            ] {
                try await stand(state, situation)
                let told = try await site.deletion(["proceed", request, "--without-apple", "--confirm=\(request)"])
                #expect(told.status == 0, "\(state): \(told)")
                #expect(try await site.database.psql(given) == "t", "\(state)")
            }
            let shown = try await site.deletion(["show", request, "--json", "without_apple"])
            #expect(shown.output.contains("true"), "\(shown)")
        }
    }

    @Test("The decision to proceed without Apple can be withdrawn until the account is locked out")
    func withdrawal() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let words = ["proceed", request, "--without-apple", "--withdraw", "--json", "outcome"]
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple', without_apple = true"
            )
            let runs: [(more: [String], outcome: String)] = [
                (["--dry-run"], "would_be_done"), ([], "done"), ([], "unchanged"),
            ]
            for (more, outcome) in runs {
                let told = try await site.deletion(words + more)
                #expect(told.status == 0 && told.output.contains("\"\(outcome)\""), "\(told)")
            }
            let given = "select without_apple from accountctl.deletion_requests"
            #expect(try await site.database.psql(given) == "f")
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'running', without_apple = true, locked_out_at = now()"
            )
            let late = try await site.deletion(words)
            #expect(late.status == 6 && late.errors.contains("is already locked out"), "\(late)")
            #expect(try await site.database.psql(given) == "t")
            let other = try await site.deletion(["proceed", request, "--without-identifiers", "--withdraw"])
            #expect(other.status == 2 && other.errors.contains("--withdraw reverses --without-apple"), "\(other)")
        }
    }
}
