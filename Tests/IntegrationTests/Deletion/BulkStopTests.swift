import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("A run over many accounts that stops continues later", .timeLimit(.minutes(5)))
struct BulkStopTests {
    @Test(
        "A line of the result file counts only while its request exists: a copy or a backup has the same identity"
    )
    func lostRequests() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
            let database = stage.database
            let path = try BulkRun.write([1, 2, 3].map(OperatorStage.id), stage)
            let command = ["deletion", "request", "--file", path]
            #expect(try await stage.run(command + ["--confirm=3"]).status == 0)
            let again = try await stage.run(command + ["--confirm=3", "--json"])
            #expect(again.output.contains(#""done_before": 3"#) && !again.errors.contains("not in this database"))
            // This is the state of a backup from before two of the requests.
            try await database.psql(
                """
                set session_replication_role = replica;
                delete from accountctl.deletion_requests where user_id <> '\(OperatorStage.id(1))'
                """
            )
            let dry = try await stage.run(command + ["--dry-run", "--json"])
            for fact in [#""done_before": 1"#, #""accounts": 2"#] {
                #expect(dry.output.contains(fact), "\(fact) in \(dry.output)")
            }
            let rest = try await stage.run(command + ["--confirm=3", "--json"])
            #expect(rest.status == 0, "\(rest.errors)")
            #expect(rest.errors.contains("2 requests of the result file are not in this database"), "\(rest.errors)")
            #expect(rest.output.contains(#""requested": 2"#), "\(rest.output)")
            #expect(try await BulkRun.requests(database) == "3|3")
            // The newest line of an account counts.
            let last = try await stage.run(command + ["--confirm=3", "--json"])
            #expect(last.output.contains(#""done_before": 3"#), "\(last.output)")
        }
    }

    @Test("A run that was killed continues with the accounts that are not done")
    func killed() async throws {
        let count = 600
        try await OperatorStage.with(accounts: count) { stage in
            let database = stage.database
            let path = try BulkRun.write((1...count).map(OperatorStage.id), stage)
            let result = path + ".results.ndjson"
            let command = ["deletion", "request", "--file", path, "--confirm=\(count)"]
            let run = try AccountctlProcess(command + ["--rate", "20/s"], environment: stage.variables)
            try await database.waitUntil(
                "exists (select from accountctl.deletion_requests)",
                changes: "accountctl.deletion_requests"
            )
            run.signal(SIGKILL)
            #expect(try await run.result().status == -SIGKILL)
            let before = try #require(Int(try await BulkRun.requests(database).split(separator: "|")[0]))
            #expect((1..<count).contains(before))
            // This simulates a kill in the middle of a line.
            let written = try String(contentsOfFile: result, encoding: .utf8)
            try (written + #"{"at":"2026-11"#).write(toFile: result, atomically: true, encoding: .utf8)
            let rest = try await stage.run(command)
            #expect(rest.status == 0, "\(rest.errors)")
            #expect(try await BulkRun.requests(database) == "\(count)|\(count)")
            let told = try BulkRun.outcomes(result)
            #expect(told.values.reduce(0, +) == count)
            #expect(told["failed"] == nil && told["unknown_user"] == nil)
        }
    }

    @Test("A result file that was saved with the line ends of Windows loses nothing when a run continues")
    func foreignLineEnds() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
            let path = try BulkRun.write([1, 2, 3].map(OperatorStage.id), stage)
            let result = path + ".results.ndjson"
            let command = ["deletion", "request", "--file", path, "--confirm=3", "--json"]
            #expect(try await stage.run(command).status == 0)
            let saved = try String(contentsOfFile: result, encoding: .utf8).replacing("\n", with: "\r\n")
            // A run was killed in the middle of a line after that.
            try (saved + #"{"at":"2026-11"#).write(toFile: result, atomically: true, encoding: .utf8)
            let again = try await stage.run(command)
            #expect(again.status == 0 && again.output.contains(#""done_before": 3"#), "\(again)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: result)) == Data(saved.utf8))
        }
    }

    @Test("One failing account does not affect the others; too many failures stop the run, which continues later")
    func failures() async throws {
        try await OperatorStage.with(accounts: 30) { stage in
            let database = stage.database
            let path = try BulkRun.write((1...30).map(OperatorStage.id), stage)
            try await database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    if right(new.user_id::text, 1) = '5' then raise exception 'not this one' ; end if;
                    return new;
                end
                $$;
                create trigger refuse before insert on accountctl.deletion_requests
                    for each row execute function public.refuse();
                """
            )
            let command = ["deletion", "request", "--file", path, "--confirm=30"]
            let stopped = try await stage.run(command + ["--stop-after", "2"])
            #expect(stopped.status == 1)
            #expect(stopped.errors.contains("stopped after 2 failures: 15 not done"), "\(stopped.errors)")
            #expect(stopped.errors.contains("the last: Postgres error server P0001"), "\(stopped.errors)")
            #expect(stopped.errors.contains("continues with the rest"), "\(stopped.errors)")
            #expect(try await BulkRun.requests(database) == "13|13")
            let all = try await stage.run(command)
            #expect(all.status == 1)
            #expect(all.errors.contains("3 accounts failed"))
            #expect(try await BulkRun.requests(database) == "27|27")
            try await database.psql("drop trigger refuse on accountctl.deletion_requests")
            let mended = try await stage.run(command + ["--json"])
            #expect(mended.status == 0)
            #expect(mended.output.contains(#""requested": 3"#))
            #expect(try await BulkRun.requests(database) == "30|30")
        }
    }

    @Test("A run that is stopped by an error says why, what it did before, and that the next run continues")
    func stopped() async throws {
        try await OperatorStage.with(accounts: 6) { stage in
            let path = try BulkRun.write((1...6).map(OperatorStage.id), stage)
            try await stage.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    if right(new.user_id::text, 1) = '4' then
                        raise exception 'permission denied for table of ours' using errcode = '42501';
                    end if;
                    return new;
                end
                $$;
                create trigger refuse before insert on accountctl.deletion_requests
                    for each row execute function public.refuse();
                """
            )
            let command = ["deletion", "request", "--file", path, "--confirm=6", "--json"]
            let stopped = try await stage.run(command + ["--rate", "4/s"])
            #expect(stopped.status == 4, "\(stopped)")
            for fact in [#""outcome": "stopped""#, #""requested": 3"#, #""failed": 0"#] {
                #expect(stopped.output.contains(fact), "\(stopped)")
            }
            for said in ["stopped, 3 of 6 not done: permission", "continues with the rest"] {
                #expect(stopped.errors.contains(said), "\(stopped)")
            }
            // At a terminal the progress line ends before the result.
            let shown = try await TerminalSession.run(
                command.dropLast() + ["--rate", "4/s", "--result", stage.path("other")],
                environment: stage.variables.merging(["NO_COLOR": "1"]) { $1 }
            )
            #expect(shown.status == 4 && shown.screen.contains("3/6"), "\(shown)")
            #expect(shown.screen.split(separator: "\n").contains { $0.hasPrefix("Outcome") }, "\(shown)")
            try await stage.database.psql("drop trigger refuse on accountctl.deletion_requests")
            let rest = try await stage.run(command)
            #expect(rest.status == 0 && rest.output.contains(#""requested": 3"#), "\(rest)")
        }
    }

    @Test("The announced time of retries of an unreachable database includes the time that each try may take")
    func retries() {
        var retries = BulkRetries(each: .seconds(30))
        let pauses = Array(sequence(state: ()) { _ in retries.next() })
        #expect(pauses.map(\.wait) == [1, 2, 5, 10, 20, 30, 30, 30, 30].map { .seconds($0) })
        #expect(pauses.map(\.longest) == [428, 397, 365, 330, 290, 240, 180, 120, 60].map { .seconds($0) })
        #expect(pauses[0].words == "trying again in 1 s, and for at most 7 min 8 s more")
    }

    @Test("A database that is unreachable at the start is reported at once")
    func away() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let path = try BulkRun.write([id], stage)
            try await stage.request(id)
            let list = stage.path("erasures")
            try await stage.run(["deletion", "export"]).output.write(toFile: list, atomically: true, encoding: .utf8)
            try await ClosedPort.with { port in
                let nowhere = ["PGHOST": "127.0.0.1", "PGPORT": "\(port)"]
                for command in [
                    ["deletion", "request", "--file", path, "--dry-run"],
                    ["deletion", "cancel", "--file", path, "--dry-run"],
                    ["deletion", "replay", list, "--dry-run"],
                ] {
                    // This is well below the time that waiting for a connection may take.
                    let result = try await AccountctlProcess(
                        command,
                        environment: stage.variables.merging(nowhere) { $1 }
                    )
                    .result(within: .seconds(20))
                    #expect(result.status == 75, "\(command): \(result)")
                }
            }
        }
    }
}
