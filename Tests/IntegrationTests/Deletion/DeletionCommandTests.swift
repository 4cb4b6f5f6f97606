import Foundation
import TestSupport
import Testing

/// The `deletion` commands, run without a terminal as in a script.
@Suite("Deletion commands", .timeLimit(.minutes(5)))
struct DeletionCommandTests {
    private static let nobody = "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"

    @Test("An unknown account or request gives exit code 3 and no output")
    func unknown() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let commands = [
                ["show"], ["cancel"], ["retry"], ["pause"], ["resume"], ["proceed", "--without-apple"], ["receipt"],
                ["request", "--confirm=\(Self.nobody)"], ["plan"], ["rehearse", "--confirm=\(Self.nobody)"],
            ]
            for words in commands {
                let result = try await site.deletion(words + [Self.nobody])
                #expect(result.status == 3, "\(words): \(result.errors)")
                #expect(result.output.isEmpty, "\(words)")
                #expect(result.errors.contains(Self.nobody) || result.errors.contains("no account"), "\(words)")
            }
            // The request exists, but has no receipt yet.
            let early = try await site.deletion(["receipt", try await site.request()])
            #expect(early.status == 3)
            #expect(early.errors.contains("there is no receipt yet"))
            let request = try await site.request()
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'cancelled', finished_at = now()"
            )
            let cancelled = try await site.deletion(["receipt", request])
            #expect(cancelled.status == 3 && cancelled.errors.contains("was cancelled"), "\(cancelled)")
        }
    }

    @Test("A request is named by its account's e-mail address, unless several accounts have that; by no username")
    func address() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
            let (request, address) = (try await stage.request(OperatorStage.id(1)), "U1@example.com")
            let commands = [["show"], ["pause"], ["resume"], ["retry"], ["cancel"]]
            for words in commands {
                let named = try await stage.run(["deletion"] + words + [address, "--json"])
                #expect(named.status == 0 && named.output.contains(request), "\(words): \(named)")
            }
            let state = "select state from accountctl.deletion_requests"
            #expect(try await stage.database.psql(state) == "cancelled")
            // Only some of these accounts have a request, but any may be meant.
            try await stage.request(OperatorStage.id(2))
            try await stage.database.psql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values ('g-1', '\(OperatorStage.id(3))', '{"email": "u2@example.com"}', 'google', now());
                update public.profiles set username = 'all' where id = '\(OperatorStage.id(2))'
                """
            )
            let refusals: [(term: String, status: Int32, words: String)] = [
                ("u2@example.com", 2, "names 2 accounts"), ("u3@example.com", 3, "has no open deletion request"),
                ("nobody@example.com", 3, "there is no account"), ("all", 2, "is not a request id"),
            ]
            for words in commands {
                for (term, status, said) in refusals {
                    let refused = try await stage.run(["deletion"] + words + [term, "--json"])
                    #expect(refused.status == status && refused.output.isEmpty, "\(words) \(term): \(refused)")
                    #expect(refused.errors.contains(said) && !refused.errors.contains("--by"), "\(term): \(refused)")
                }
            }
            let open = "select count(*) from accountctl.deletion_requests where state = 'grace' and paused_at is null"
            #expect(try await stage.database.psql(open) == "1")
        }
    }

    @Test("A dry run and an unconfirmed command without a terminal change nothing")
    func nothingChanges() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            try await site.leaveResidue(of: UUID().uuidString.lowercased())
            // `proceed --without-apple` requires a request that Apple holds up.
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple' where id = '\(request)'"
            )
            let before = try await site.everything()
            let irreversible = [
                ["request", account], ["rehearse", account], ["proceed", "--without-apple", request],
                ["accept", "public.invoices.buyer", "--reason", "kept by law"],
            ]
            let reversible = [
                ["cancel", request], ["retry", request], ["pause", request], ["pause", "--all"], ["resume", request],
            ]
            for words in irreversible + reversible {
                let result = try await site.deletion(words + ["--dry-run"])
                #expect(result.status == 0, "\(words): \(result.errors)")
                let isSo = words == ["resume", request]
                #expect((result.errors + result.output).contains(isSo ? "Nothing to do" : "would"), "\(words)")
            }
            for words in irreversible {
                let unasked = try await site.deletion(words)
                #expect(unasked.status == 2, "\(words)")
                #expect(unasked.errors.contains("--confirm="), "\(words): \(unasked.errors)")
                #expect(try await site.deletion(words + ["--confirm=yes"]).status == 2, "\(words)")
            }
            #expect(try await site.deletion(["accept", "public.invoices.buyer"]).status == 2)
            #expect(try await site.deletion(["proceed", request]).status == 2)
            #expect(try await site.deletion(["pause"]).status == 2)
            #expect(try await site.everything() == before)
            // With nothing paused, there is nothing to confirm.
            for more in [["--dry-run"], [], ["--confirm=yes"]] {
                let idle = try await site.deletion(["resume", "--all"] + more)
                #expect(idle.status == 0 && idle.errors.contains("deletions are not paused"), "\(idle)")
            }
            #expect(try await site.everything() == before)
            _ = try await site.database.psql("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'x'")
            let dry = try await site.deletion(["resume", "--all", "--dry-run"])
            #expect(dry.status == 0 && dry.errors.contains("would resume every deletion"), "\(dry)")
            for more in [[], ["--confirm=yes"]] {
                #expect(try await site.deletion(["resume", "--all"] + more).status == 2)
            }
            let brakes = "select count(*) from accountctl.deletion_brakes where paused_at is not null"
            #expect(try await site.database.psql(brakes) == "1")
        }
    }

    @Test("Every state shows what ends it, and the exit code marks the states that need an operator")
    func states() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let cases: [(state: String, situation: String?, status: Int32, words: String)] = [
                ("requested", nil, 0, "a worker"), ("grace", nil, 0, "the grace period is over"),
                ("held", "paused", 6, "deletion resume --all"), ("held", "legal_hold", 6, "releasing the hold"),
                ("held", "ceiling", 6, "as the hour passes"), ("blocked", "blocking_rows", 6, "deletion retry"),
                ("blocked", "undecided_bucket", 6, "deletion.kept_buckets"),
                ("blocked", "undecided_file", 6, "deletion.kept_avatar_folders"),
                ("blocked", "other_account", 6, "deletion cancel"),
                ("blocked", "sealing_key_missing", 6, "apple vault forget-key KEY"),
                ("waiting_for_apple", "apple_misconfigured", 0, "proceed --without-apple"),
                ("waiting_for_apple", "apple_unreachable", 0, "after apple.give_up it continues"),
                ("running", nil, 0, "the steps that are left"), ("settling", nil, 0, "the last access token"),
                ("residue", "residue", 5, "deletion accept COLUMN"),
            ]
            for (state, situation, status, words) in cases {
                try await site.database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = '\(state)',
                        situation = \(situation.map { "'{\"code\": \"\($0)\"}'" } ?? "null"),
                        locked_out_at = now(),
                        settle_after = now()
                    """
                )
                let shown = try await site.deletion(["show", request, "--json", "state,ended_by"])
                #expect(shown.status == status, "\(state) \(situation ?? "")")
                #expect(shown.output.contains(words), "\(state) \(situation ?? ""): \(shown.output)")
            }
            let ofFiles = #"[{"column": "storage.objects.name", "identifiers": ["user_id"], "count": 1}]"#
            try await site.database.psql(
                "update accountctl.deletion_requests set situation = situation || '{\"findings\": \(ofFiles)}'"
            )
            let shown = try await site.deletion(["show", request, "--json", "ended_by"])
            #expect(shown.output.contains("(files through Storage: SQL would leave their bytes)"), "\(shown.output)")
        }
    }

    @Test("Only --reveal shows the identifiers to look for, and it is logged")
    func reveal() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let (request, address) = (try await site.request(), "gone1@example.com")
            let early = try await site.deletion(["show", request, "--reveal"])
            #expect(early.status == 0 && early.errors.contains("there are no sealed identifiers"), "\(early)")
            try await site.database.psql(
                "create table public.notes (body text); insert into public.notes values ('write to \(address)')",
                user: "postgres"
            )
            try await AccountctlProcess.must(["worker", "--until-idle"], site.variables)
            let masked = try await site.deletion(["show", request])
            #expect(masked.status == 5 && !masked.output.contains(address), "\(masked)")
            #expect(masked.output.contains("accountctl deletion show --reveal \(request)"), "\(masked)")
            let log = "select string_agg(action, ' ') from accountctl.operator_log"
            #expect(try await site.database.psql(log) == "")
            let shown = try await site.deletion(["show", request, "--reveal", "--json", "identifiers"])
            #expect(shown.status == 5 && shown.output.contains(address), "\(shown)")
            #expect(try await site.database.psql(log) == "deletion.reveal")
        }
    }
}
