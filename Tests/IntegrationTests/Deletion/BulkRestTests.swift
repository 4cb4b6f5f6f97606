import AccountLifecycle
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("The rest of a list", .timeLimit(.minutes(5)))
struct BulkRestTests {
    @Test("The requests of a result file divide accounts into left, done and cancelled; lost requests are counted")
    func sorted() throws {
        let users = (0..<6).map { _ in UUID() }
        let requests = Dictionary(uniqueKeysWithValues: users.prefix(5).map { ($0, UUID()) })
        let states: [DeletionState] = [.grace, .verified, .cancelled, .cancelled]
        var known: [UUID: DeletionState] = [:]
        for (user, state) in zip(users, states) {
            let request = try #require(requests[user])
            known[request] = state
        }
        let rest = BulkRest(of: users, requests: requests, known: known)
        #expect(rest.left == [users[4], users[5]])
        #expect(rest.doneBefore == 2 && rest.cancelled == 2 && rest.lost == 1)
        #expect(
            rest.warnings == [
                "1 request of the result file is not in this database, perhaps since it is a copy or was restored: its "
                    + "account counts as not done",
                "2 requests of the result file have been cancelled since, and are left alone; another --result "
                    + "requests them again",
            ]
        )
        let first = BulkRest(of: users, requests: [:], known: [:])
        #expect(first.left == users && first.warnings.isEmpty)
    }

    @Test("Requests that were cancelled since count as cancelled, not as done, and a warning says so")
    func cancelledSince() async throws {
        try await OperatorStage.with(accounts: 4) { stage in
            let database = stage.database
            let path = stage.path("ids.txt")
            func write(_ accounts: ClosedRange<Int>) throws {
                try accounts.map { OperatorStage.id($0) + "\n" }.joined()
                    .write(toFile: path, atomically: true, encoding: .utf8)
            }
            try write(1...3)
            let command = ["deletion", "request", "--file", path, "--json"]
            #expect(try await stage.run(command + ["--confirm=3"]).status == 0)
            let cancelled = try await stage.run(
                ["deletion", "cancel", "--file", "-", "--reason", "the wrong list"],
                input: try await database.psql("select id from accountctl.deletion_requests")
            )
            #expect(cancelled.status == 0, "\(cancelled)")
            // The corrected list is run with the same result file.
            try write(2...4)
            let warning = "2 requests of the result file have been cancelled since, and are left alone"
            let dry = try await stage.run(command + ["--dry-run"])
            #expect(dry.status == 0 && dry.errors.contains(warning), "\(dry)")
            for fact in [#""done_before": 0"#, #""cancelled": 2"#, #""accounts": 1"#] {
                #expect(dry.output.contains(fact), "\(fact) in \(dry.output)")
            }
            let asked = try await stage.run(command)
            #expect(asked.status == 2 && asked.errors.contains("(3 ids in the list, 2 cancelled since)"), "\(asked)")
            let done = try await stage.run(command + ["--confirm=3"])
            #expect(done.status == 0 && done.errors.contains(warning), "\(done)")
            for fact in [#""done_before": 0"#, #""cancelled": 2"#, #""requested": 1"#] {
                #expect(done.output.contains(fact), "\(fact) in \(done.output)")
            }
            let open = "select count(*) from accountctl.deletion_requests where finished_at is null"
            #expect(try await database.psql(open) == "1")
            // A new result file has none of these requests.
            let other = try await stage.run(command + ["--confirm=3", "--result", stage.path("other")])
            #expect(other.status == 0 && !other.errors.contains("cancelled since"), "\(other)")
            #expect(other.output.contains(#""requested": 2"#) && other.output.contains(#""found": 1"#), "\(other)")
            #expect(try await database.psql(open) == "3")
        }
    }
}
