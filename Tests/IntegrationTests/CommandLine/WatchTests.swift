import Foundation
import TestSupport
import Testing

@Suite("Following deletions and accounts", .timeLimit(.minutes(5)))
struct WatchTests {
    private static let anna = OperatorStage.id(1)

    private func follow(_ arguments: [String], _ stage: OperatorStage) throws -> AccountctlProcess {
        try AccountctlProcess(arguments + ["--format", "ndjson"], environment: stage.variables)
    }

    private static let cut = """
        select count(pg_terminate_backend(pid)) from pg_stat_activity
        where datname = current_database() and usename = 'postgres'
        """

    @Test("A deletion is followed across a lost connection to its end, and its outcome sets the exit code")
    func deletion() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let request = try await stage.database.psql(
                "select request_id from accountctl.open_deletion_request('\(Self.anna)', 'app')"
            )
            let watch = try follow(["deletion", "watch", Self.anna], stage)
            #expect(try await watch.waitForOutput(containing: #""state":"grace""#))
            #expect(try await stage.database.psql(Self.cut) != "0")
            try await stage.database.psql(
                """
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                values ('\(request)', 'preflight', 1, now())
                """
            )
            #expect(try await watch.waitForOutput(containing: #""step":"preflight""#), "\(watch.errorsSoFar)")
            try await stage.database.psql("select accountctl.cancel_deletion_request('\(request)')")
            let result = try await watch.result()
            #expect(result.status == 6, "\(result.errors)")
            #expect(result.output.split(separator: "\n").last?.contains(#""state":"cancelled""#) == true)
            #expect(!result.output.contains("\u{1B}"))
            #expect(try await stage.run(["deletion", "watch", OperatorStage.id(9)]).status == 3)
        }
    }

    @Test("A blocked deletion ends the watch, unless a worker is due to try it again")
    func retried() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let request = try await stage.database.psql(
                "select request_id from accountctl.open_deletion_request('\(Self.anna)', 'app')"
            )
            try await stage.database.psql(
                """
                update accountctl.deletion_requests
                set state = 'blocked', situation = '{"code": "blocking_rows"}'
                where id = '\(request)'
                """
            )
            let blocked = try await stage.run(["deletion", "watch", request])
            #expect(blocked.status == 6, "\(blocked)")
            #expect(blocked.errors.contains("What ends this: accountctl deletion show \(request)"), "\(blocked)")
            #expect(try await stage.run(["deletion", "retry", request]).status == 0)
            let watch = try follow(["deletion", "watch", request], stage)
            #expect(try await watch.waitForOutput(containing: #""state":"blocked""#))
            #expect(try await stage.run(["deletion", "cancel", request]).status == 0)
            let result = try await watch.result()
            let last = result.output.split(separator: "\n").last
            #expect(last?.contains(#""state":"cancelled""#) == true, "\(result.output) \(result.errors)")
        }
    }

    @Test("The columns of a followed account stay where they are when its state becomes longer")
    func columns() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let watch = try AccountctlProcess(["user", "watch", Self.anna], environment: stage.variables)
            #expect(try await watch.waitForOutput(containing: "active"))
            try await stage.request(Self.anna)
            #expect(try await watch.waitForOutput(containing: "deletion_grace"), "\(watch.errorsSoFar)")
            #expect(try await stage.run(["deletion", "cancel", Self.anna]).status == 0)
            try await stage.database.psql("delete from auth.users where id = '\(Self.anna)'")
            let output = try await watch.result().output
            let lines = output.split(separator: "\n")
            let heading = try #require(lines.first)
            let end = try #require(heading.firstRange(of: "SESSIONS")).upperBound.utf16Offset(in: heading)
            let held = try #require(heading.firstRange(of: "HELD")).lowerBound.utf16Offset(in: heading)
            for line in lines.dropFirst() {
                // The number of sessions is aligned to the right under its heading.
                #expect(line.prefix(end).last?.isNumber == true, "\(output)")
                #expect(line.dropFirst(held) == "no", "\(output)")
            }
        }
    }

    @Test("An account is followed across a lost connection until it is gone")
    func account() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let watch = try follow(["user", "watch", "u1@example.com"], stage)
            #expect(try await watch.waitForOutput(containing: #""state":"active""#))
            #expect(try await stage.database.psql(Self.cut) != "0")
            #expect(try await stage.run(["user", "suspend", Self.anna, "--reason", "spam", "--yes"]).status == 0)
            #expect(try await watch.waitForOutput(containing: #""state":"banned""#), "\(watch.errorsSoFar)")
            try await stage.database.psql("delete from auth.users where id = '\(Self.anna)'")
            let result = try await watch.result()
            #expect(result.status == 3, "\(result.errors)")
            let lines = result.output.split(separator: "\n")
            #expect(lines.contains { $0.contains(#""operation":"user.suspend""#) })
            // Standard error has plain text and no JSON log lines, even when it is no terminal.
            #expect(!result.errors.contains("{"), "\(result.errors)")
            #expect(lines.last?.contains(#""state":"not_found""#) == true)
        }
    }
}
