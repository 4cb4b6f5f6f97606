import Foundation
import TestSupport
import Testing

/// `deletion accept` records columns in which an erasure may leave identifiers.
@Suite("Accepted columns", .timeLimit(.minutes(5)))
struct AcceptedColumnTests {
    @Test("A column that exists or that a request reports can be accepted; an acceptance is shown and can be withdrawn")
    func accepted() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            try await site.leaveResidue()
            let stored = "select string_agg(column_name || ': ' || reason, ', ') from accountctl.accepted_columns"
            @Sendable func accept(_ column: String, _ more: String...) async throws -> AccountctlProcess.Result {
                try await site.deletion(["accept", column, "--confirm=\(column)", "--reason", "kept by law"] + more)
            }
            for more in ["--dry-run", "--no-input"] {
                let typo = try await accept("public.invoices.byer", more)
                #expect(typo.status == 3, "\(typo)")
                #expect(typo.errors.contains("public.invoices.buyer and public.notes.body"), "\(typo)")
            }
            #expect(try await site.database.psql(stored) == "")
            #expect(try await accept("public.invoices.buyer").status == 0)
            #expect(try await site.database.psql(stored) == "public.invoices.buyer: kept by law")
            let shown = try await site.deletion(["show", request])
            #expect(shown.output.contains("kept by law"), "\(shown)")
            let json = try await site.deletion(["show", request, "--json", "accepted"])
            #expect(json.output.contains(#""column": "public.invoices.buyer""#), "\(json)")
            #expect(!json.output.contains("public.notes.body"), "\(json)")
            // No search has counted this column yet.
            #expect(try await accept("public.invoices.buyer", "--withdraw", "--dry-run").status == 0)
            #expect(try await site.database.psql(stored) != "")
            #expect(try await accept("public.invoices.buyer", "--withdraw").status == 0)
            #expect(try await site.database.psql(stored) == "")
            #expect(try await accept("public.invoices.buyer", "--withdraw").status == 3)
            let log = "select string_agg(action, ' ' order by id) from accountctl.operator_log"
            #expect(try await site.database.psql(log) == "deletion.accept deletion.withdraw")
            // An accepted column can be accepted again although no request reports it any more.
            #expect(try await accept("public.invoices.buyer").status == 0)
            try await site.database.psql("update accountctl.deletion_requests set situation = null, state = 'running'")
            #expect(try await accept("public.invoices.buyer").status == 0)
            #expect(try await accept("public.notes.body").status == 3)
            // A pause replaces the findings of a request; an existing column can be accepted meanwhile, with a warning.
            let early = try await accept("public.profiles.full_name")
            #expect(early.status == 0 && early.errors.contains("no open request reports"), "\(early)")
        }
    }

    @Test("A partitioned table is accepted by its own name, and reported by the names of its partitions")
    func partitioned() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            try await site.leaveResidue()
            try await site.database.psql(
                """
                create table public.ledger (year int, buyer text) partition by range (year);
                create table public.ledger_2026 partition of public.ledger for values from (2026) to (2027);
                update accountctl.deletion_requests
                set situation = jsonb_set(situation, '{findings,0,column}', '"public.ledger_2026.buyer"')
                """
            )
            for (column, isReported) in [("public.ledger.buyer", true), ("public.ledger.year", false)] {
                let looked = try await site.deletion(
                    ["accept", column, "--confirm=\(column)", "--reason", "kept by law", "--dry-run"]
                )
                #expect(looked.status == 0, "\(looked)")
                #expect(looked.errors.contains("no open request reports") != isReported, "\(looked)")
            }
        }
    }
}
