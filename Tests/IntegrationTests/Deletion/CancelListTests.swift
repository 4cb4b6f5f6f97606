import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("Cancelling a list of deletions", .timeLimit(.minutes(5)))
struct CancelListTests {
    /// A row of the output.
    private struct Row: Decodable, Equatable {
        let request: String
        let outcome: String?
        let refusal: String?
        let exitCode: Int32

        enum CodingKeys: String, CodingKey {
            case request, outcome, refusal
            case exitCode = "exit_code"
        }
    }

    private func rows(_ result: AccountctlProcess.Result) throws -> [Row] {
        try JSONDecoder().decode([Row].self, from: Data(result.output.utf8))
    }

    /// Opens a request for each account, and returns the ids of the requests in the order of the accounts.
    private func open(_ count: Int, _ stage: OperatorStage) async throws -> [String] {
        try await stage.addAccounts(count)
        let text = try await stage.database.psql(
            """
            select r.request_id
            from auth.users as u
            cross join lateral accountctl.open_deletion_request(u.id, 'operator') as r
            order by u.id
            """
        )
        return text.split(separator: "\n").map(String.init)
    }

    private func state(of request: String, _ stage: OperatorStage) async throws -> String {
        try await stage.database.psql("select state from accountctl.deletion_requests where id = '\(request)'")
    }

    private func cancelled(_ stage: OperatorStage) async throws -> String {
        try await stage.database.psql(
            "select count(*) from accountctl.deletion_requests where state = 'cancelled'"
        )
    }

    @Test("Every bad line is reported with its number, and nothing is done")
    func badLines() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(2, stage)
            let text = "# wrong list\n\(requests[0])\nanna@example.com\n\n12\n  \(requests[1].uppercased())\n"
            let result = try await stage.run(["deletion", "cancel", "--file", "-", "--json"], input: text)
            #expect(result.status == 2 && result.output.isEmpty, "\(result)")
            #expect(result.errors.contains("line 3: \"anna@example.com\" is not a request id"), "\(result.errors)")
            #expect(result.errors.contains("line 5: \"12\" is not a request id"), "\(result.errors)")
            for line in [1, 2, 4, 6] { #expect(!result.errors.contains("line \(line)"), "\(result.errors)") }
            #expect(result.errors.contains("A line holds a request id and nothing else"), "\(result.errors)")
            #expect(try await cancelled(stage) == "0")
            let empty = try await stage.run(["deletion", "cancel", "--file", "-"], input: "# nobody\n")
            #expect(empty.status == 2 && empty.errors.contains("standard input holds no request id"), "\(empty)")
            for words in [[], [requests[0], "--file", "-"]] {
                let usage = try await stage.run(["deletion", "cancel"] + words, input: requests[0])
                #expect(usage.status == 2 && usage.errors.contains("--file"), "\(usage)")
            }
            #expect(try await cancelled(stage) == "0")
        }
    }

    @Test("Each request is cancelled separately with its own log entry; each refusal has its own row")
    func each() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(6, stage)
            let database = stage.database
            let path = stage.path("requests.txt")
            let strange = "00000000-0000-4000-8000-00000000ffff"
            let lines = ["# taken back", ""] + requests + [requests[0], strange]
            try lines.map { $0 + "\r\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
            // The requests in order: two unchanged, one locked out, one begun, one cancelled, one verified.
            try await database.psql(
                """
                update accountctl.deletion_requests set state = 'running', locked_out_at = now()
                where id in ('\(requests[2])', '\(requests[3])');
                update auth.users as u set banned_until = r.locked_out_at + interval '87660 hours'
                from accountctl.deletion_requests as r where r.user_id = u.id and r.locked_out_at is not null;
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                values ('\(requests[3])', 'delete_avatars', 1, now());
                update accountctl.deletion_requests set state = 'cancelled', finished_at = now()
                where id = '\(requests[4])';
                update accountctl.deletion_requests
                set state = 'verified', finished_at = now(), locked_out_at = now(), user_id = null, reason = null,
                    subject_hash = '\\x01', subject_key_id = 'hash'
                where id = '\(requests[5])';
                """
            )
            let expected = [
                Row(request: requests[3], outcome: "refused", refusal: "begun", exitCode: 6),
                Row(request: requests[4], outcome: "unchanged", refusal: nil, exitCode: 0),
                Row(request: requests[5], outcome: "refused", refusal: "verified", exitCode: 6),
                Row(request: strange, outcome: nil, refusal: nil, exitCode: 3),
            ]
            let command = ["deletion", "cancel", "--file", path, "--reason", "wrong list", "--ticket", "T-1", "--json"]
            let dry = try await stage.run(command + ["--dry-run"])
            #expect(dry.status == 6, "\(dry)")
            #expect(
                try rows(dry)
                    == requests[..<3].map { Row(request: $0, outcome: "would_be_done", refusal: nil, exitCode: 0) }
                    + expected
            )
            #expect(dry.errors.contains("3 of 7 would be cancelled, 1 cancelled already"), "\(dry.errors)")
            #expect(dry.errors.contains("1 line repeats an id"), "\(dry.errors)")
            #expect(try await cancelled(stage) == "1")
            let log = """
                select count(*), count(distinct facts ->> 'request'), count(distinct subject_hash)
                from accountctl.operator_log
                where action = 'deletion.cancel' and operator = 'olga' and reason = 'wrong list' and ticket = 'T-1'
                """
            #expect(try await database.psql(log) == "0|0|0")

            let done = try await stage.run(command)
            #expect(done.status == 6, "\(done)")
            #expect(
                try rows(done)
                    == requests[..<3].map { Row(request: $0, outcome: "done", refusal: nil, exitCode: 0) } + expected
            )
            #expect(done.errors.contains("3 of 7 cancelled, 1 cancelled already"), "\(done.errors)")
            for request in requests[..<3] { #expect(try await state(of: request, stage) == "cancelled") }
            #expect(try await state(of: requests[3], stage) == "running")
            #expect(try await database.psql(log) == "3|3|3")
            // The lock-out of the cancelled request was undone; the lock-out of the begun request was not.
            let banned = "select string_agg(right(id::text, 1), '') from auth.users where banned_until is not null"
            #expect(try await database.psql(banned) == "4")

            // The default output is a table; a list without failures has the exit code 0.
            let others = try await stage.database.psql(
                "select request_id from accountctl.open_deletion_request('\(OperatorStage.id(1))', 'operator')"
            )
            let table = try await stage.run(["deletion", "cancel", "--file", "-"], input: others)
            #expect(table.status == 0 && table.output.contains(others), "\(table)")
            // The list is repeated, as after a run that was cut off.
            let rest = try await stage.run(
                ["deletion", "cancel", "--file", "-"],
                input: ([others] + requests[..<3]).joined(separator: "\n")
            )
            #expect(rest.status == 0 && rest.errors.contains("0 of 4 cancelled, 4 cancelled already"), "\(rest)")
            #expect(try await database.psql(log) == "3|3|3")
            let gone = try await stage.run(["deletion", "cancel", "--file", "-"], input: "\(strange)\n\(others)\n")
            #expect(gone.status == 3, "\(gone)")
        }
    }

    @Test("A request whose commit was cut off has an unknown outcome, and its row says so")
    func cutOff() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(2, stage)
            try await TCPProxy.with(to: stage.database.cluster.port) { proxy in
                proxy.behaviour = .cutAt("commit\0", afterServerAnswered: true)
                let place = ["--database-url", stage.database.conninfo(port: proxy.port)]
                let result = try await stage.run(
                    ["deletion", "cancel", "--file", "-", "--json"] + place,
                    input: requests.joined(separator: "\n")
                )
                #expect(result.status == 75, "\(result)")
                let row = Row(request: requests[0], outcome: nil, refusal: nil, exitCode: 75)
                #expect(try rows(result) == [row], "\(result)")
                #expect(result.errors.contains("1 of 2 not done"), "\(result.errors)")
            }
            #expect(try await cancelled(stage) == "1")
        }
    }

    @Test("A reason that identifies an account of the list is refused before anything is done")
    func ownWords() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(2, stage)
            try await stage.database.psql(
                "update auth.users set phone = '4512345678' where id = '\(OperatorStage.id(2))'"
            )
            let result = try await stage.run(
                ["deletion", "cancel", "--file", "-", "--reason", "call 4512345678"],
                input: requests.joined(separator: "\n")
            )
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.contains("--reason contains a phone number of the account"), "\(result.errors)")
            #expect(try await cancelled(stage) == "0")
        }
    }

    @Test("A dry run fires no trigger that may act outside; a trigger that refuses one request stops only that one")
    func triggers() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(3, stage)
            let list = requests.joined(separator: "\n")
            try await stage.database.psql(
                """
                create extension if not exists dblink schema extensions;
                create function public.refuse() returns trigger language plpgsql security definer as $$
                begin
                    if false then perform extensions.dblink_exec('', ''); end if;
                    if new.id = '\(OperatorStage.id(2))' and new.banned_until is null then
                        raise exception 'not this one';
                    end if;
                    return new;
                end $$;
                create trigger refuse_update before update on auth.users for each row execute function public.refuse();
                """
            )
            // Cancelling before the lock-out writes nothing to Supabase's tables.
            let early = try await stage.run(["deletion", "cancel", "--file", "-", "--dry-run"], input: list)
            #expect(early.status == 0 && !early.errors.contains("not tried, so"), "\(early)")
            try await stage.database.psql(
                """
                update accountctl.deletion_requests set state = 'running', locked_out_at = now();
                update auth.users as u set banned_until = r.locked_out_at + interval '87660 hours'
                from accountctl.deletion_requests as r where r.user_id = u.id;
                """
            )
            let dry = try await stage.run(["deletion", "cancel", "--file", "-", "--dry-run"], input: list)
            #expect(dry.status == 0 && dry.errors.contains("not tried, so"), "\(dry)")
            #expect(dry.errors.contains("refuse_update"), "\(dry.errors)")
            let done = try await stage.run(["deletion", "cancel", "--file", "-", "--json"], input: list)
            #expect(done.status == 1, "\(done)")
            #expect(try rows(done).map(\.outcome) == ["done", nil, "done"])
            #expect(try rows(done).map(\.exitCode) == [0, 1, 0])
            #expect(try await cancelled(stage) == "2")
        }
    }

    @Test("One request and many requests have the same columns")
    func columns() async throws {
        try await OperatorStage.with { stage in
            let requests = try await open(2, stage)
            let fields = DeletionCancelCommand.outputFields.joined(separator: ",")
            let one = try await stage.run(["deletion", "cancel", requests[0], "--csv"])
            let many = try await stage.run(["deletion", "cancel", "--file", "-", "--csv"], input: requests[1])
            #expect(one.output.hasPrefix(fields) && many.output.hasPrefix(fields), "\(one) \(many)")
            let again = try await stage.run(["deletion", "cancel", requests[0], "--json", "outcome,refusal,exit_code"])
            #expect(again.status == 0, "\(again)")
            #expect(again.output.contains(#""outcome": "unchanged""#), "\(again.output)")
        }
    }
}
