import TestSupport
import Testing

/// `deletion rehearse` erases one account step by step while an operator looks.
@Suite("Rehearsals", .timeLimit(.minutes(5)))
struct RehearsalTests {
    @Test("A rehearsal erases one account and says what to look at; its receipt can be checked")
    func rehearsalAndReceipt() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["rehearse", "stays2@example.com", "--confirm=\(account)", "--no-input"]
            let look = try await site.deletion(["rehearse", account, "--dry-run"])
            #expect(look.status == 0 && look.errors.contains("would erase the account \(account)"), "\(look)")
            #expect(try await site.deletion(["pause", "--all", "--reason", "x"]).status == 0)
            let paused = try await site.deletion(["rehearse", account, "--dry-run"])
            #expect(paused.status == 6 && paused.errors.contains("accountctl deletion resume --all"), "\(paused)")
            #expect(try await site.deletion(["resume", "--all", "--confirm=all"]).status == 0)
            // A pause of the queue stops every erasure, rehearsals included.
            let queue = ["jobs", "pause", "deletions", "--yes"]
            #expect(try await AccountctlProcess(queue, environment: site.variables).result().status == 0)
            for words in [["rehearse", account, "--dry-run"], words] {
                let stopped = try await site.deletion(words)
                #expect(stopped.status == 6 && stopped.errors.contains("jobs resume deletions"), "\(words): \(stopped)")
            }
            let resume = ["jobs", "resume", "deletions"]
            #expect(try await AccountctlProcess(resume, environment: site.variables).result().status == 0)
            #expect(try await site.database.psql("select count(*) from accountctl.deletion_requests") == "0")
            let follower = try AccountctlProcess(["user", "watch", account], environment: site.variables)
            #expect(try await follower.waitForOutput(containing: "active"), "\(follower.errorsSoFar)")
            let rehearsal = try await site.deletion(words)
            #expect(rehearsal.status == 0, "\(rehearsal.errors)")
            #expect(rehearsal.output.contains("verified"))
            for step in ["preflight:", "lock_out:", "delete_rows:", "receipt:"] {
                #expect(rehearsal.errors.contains(step), "\(step)")
            }
            #expect(try await site.database.psql("select count(*) from auth.users") == "4")
            let number = try await site.database.psql("select number from accountctl.deletion_receipts")
            let followed = try await follower.result()
            let next = "What was done: accountctl deletion receipt \(number)\n"
            #expect(followed.status == 0 && followed.errors.hasSuffix(next), "\(followed)")
            // The job may exist until a worker removes it, but no state is shown, because it drives nothing any more.
            let shown = try await site.deletion(["show", number, "--json"])
            #expect(shown.output.contains("verified") && !shown.output.contains(#""job_state": ""#), "\(shown)")
            // Only the last line contains "verified", so a script can wait for that word.
            let watch = try await site.deletion(["watch", number, "--format", "ndjson"])
            let lines = watch.output.split(separator: "\n")
            #expect(watch.status == 0 && lines.count == 10 && watch.errors.hasSuffix(next), "\(watch)")
            #expect(lines.filter { $0.contains("verified") } == Array(lines.suffix(1)), "\(watch)")
            let first = try #require(lines.first)
            #expect(first.contains(#""state":null"#) && first.contains(#""step":"preflight""#), "\(first)")
            // The receipt lists what could not be searched as well as the counts.
            let unsearched = try await site.database.psql(
                """
                select string_agg(distinct u ->> 'reason', ',')
                from accountctl.deletion_receipts,
                    jsonb_path_query(document, '$.steps[*].facts.unreadable[*]') as u
                """
            )
            let json = try await site.deletion(["receipt", number, "--json"])
            #expect(json.output.contains("\"unreadable\"") == !unsearched.isEmpty && !unsearched.isEmpty, "\(json)")
            for name in [number, account] {
                let receipt = try await site.deletion(["receipt", name])
                #expect(receipt.status == 0)
                #expect(receipt.output.contains("intact"))
                #expect(!receipt.output.contains("stays2@example.com") && !receipt.output.contains(account))
            }
            try await site.database.psql(
                "update accountctl.deletion_receipts set document = jsonb_set(document, '{apple}', '\"revoked\"')"
            )
            let changed = try await site.deletion(["receipt", number])
            #expect(changed.status == 5)
            #expect(
                changed.output.contains("changed") && changed.errors.contains("compare it with a copy"),
                "\(changed)"
            )
            // A forger can make the receipt name a hash key that does not exist.
            try await site.database.psql(
                """
                update accountctl.deletion_receipts
                set document = jsonb_set(document, '{subjectKey}', '"hash-0"'), subject_key_id = 'hash-0'
                """
            )
            let unchecked = try await site.deletion(["receipt", number])
            #expect(unchecked.status == 7 && unchecked.output.contains("unchecked"), "\(unchecked)")
            #expect(unchecked.errors.contains(#"names the hash key "hash-0", and keys.hash_file holds "hash""#))
            #expect(unchecked.errors.contains("Name the file of that key in keys.hash_file"), "\(unchecked)")
            try await site.database.psql("delete from accountctl.deletion_receipts")
            let removed = try await site.deletion(["receipt", account])
            #expect(removed.status == 5)
            #expect(removed.errors.contains("was removed"))
        }
    }
}
