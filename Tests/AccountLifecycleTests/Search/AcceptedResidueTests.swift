import Postgres
import Testing

@testable import AccountLifecycle

/// Columns in which an operator has accepted what a search finds.
@Suite(.timeLimit(.minutes(5))) struct AcceptedResidueTests {
    /// Lost identifiers cannot be searched for, and accepted residue stays: the receipt reports both.
    @Test func anErasureByTheUserIDAloneTellsThatItIsLeftInAcceptedColumns() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("create table public.invoices (id int, buyer text)")
            try await stage.sql("insert into public.invoices values (1, \(person.text))")
            let request = try await stage.request(person)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.proofs(of: request) == Array(repeating: "user_id_only_accepted", count: 3))
            let limits = try await stage.value(
                "select document ->> 'outOfScope' from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(limits.contains("only the user id was searched for") && limits.contains("public.invoices.buyer"))
        }
    }

    @Test func anAcceptedColumnNoLongerStandsInTheWayAndTheReceiptNamesIt() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("create table public.invoices (id int, buyer text)")
            try await stage.sql("insert into public.invoices values (1, \(person.email))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let desk = stage.desk
            let waiting = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            #expect(waiting == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "accepted")
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains("were accepted there"))
            #expect(try await stage.proofs(of: request) == ["accepted", "accepted", "accepted"])
            #expect(!receipt.contains(person.email))
        }
    }

    /// As on a server whose clock is set back, or that takes another's place.
    @Test func theLastSearchCountsThoughTheFirstSeemsToHaveEndedLater() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql("create table public.invoices (id int, buyer uuid)")
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            let request = try await stage.request(person)
            let end = try await stage.drive(request, once: .begun(.settle)) {
                try await stage.sql("insert into public.invoices values (1, \(person.id))")
                try await stage.sql(
                    """
                    update accountctl.deletion_steps
                    set finished_at = finished_at + interval '1 hour'
                    where step = 'verify'
                    """
                )
            }
            #expect(end == .ended(.verified))
            #expect(try await stage.proofs(of: request) == ["accepted", "accepted", "accepted"])
        }
    }

    /// A search names the partition, and each year adds another one.
    @Test func aColumnOfAPartitionedTableIsAcceptedForItsPartitions() async throws {
        try await Stage.with { stage in
            for statement in [
                "create table public.invoices (year int, buyer uuid) partition by range (year)",
                "create table public.invoices_2025 partition of public.invoices for values from (2025) to (2026)",
                """
                create table public.invoices_late partition of public.invoices for values from (2026) to (2030)
                partition by range (year)
                """,
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            try await stage.sql(
                "create table public.invoices_2026 partition of public.invoices_late for values from (2026) to (2027)"
            )
            try await stage.sql("insert into public.invoices values (2025, \(person.id)), (2026, \(person.id))")
            let request = try await stage.erase(person)
            #expect(try await stage.outcome(.verify, request) == "accepted")
        }
    }

    /// The log is append-only: a name that an earlier version recorded is found, and an operator decides whether it is
    /// kept.
    @Test func anOperatorsNameThatIsAnAddressStandsInTheWayUntilItIsAccepted() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("select accountctl.log_operation(\(person.email), 'jobs.pause')")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(
                try await stage.situation(request)?.findings?.map(\.column) == ["accountctl.operator_log.operator"]
            )
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("accountctl.operator_log.operator", reason: "who acted is kept", on: connection)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }
}
