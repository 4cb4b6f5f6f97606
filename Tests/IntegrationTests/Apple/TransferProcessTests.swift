import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("A team transfer from end to end", .timeLimit(.minutes(5)))
struct TransferProcessTests {
    private static let recipient = "RECIPIENT1"
    private static let people = 24
    private static let identified = """
        select count(*) from accountctl.apple_transfers where state = 'generated'
        """

    private func transfer(
        _ program: AppleProgram,
        _ step: String,
        _ options: String...,
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(
            ["apple", "transfer", step, AppleProgram.clientID, "--team", Self.recipient] + options,
            environment: program.variables.merging(environment) { $1 },
            input: input
        ).result()
    }

    @Test("Killed, throttled and restarted, a transfer asks about each user once and moves all who can be moved")
    func wholeWay() async throws {
        try await AppleProgram.with { program in
            var people: [AppleProgram.Person] = []
            for _ in 0..<Self.people { people.append(try await program.signUp(credential: false)) }
            program.sandbox.apple.startTransfer(of: AppleProgram.clientID, to: Self.recipient)

            let plan = try await transfer(program, "plan", "--json", "waiting,generated")
            #expect(plan.output.contains("\"waiting\": 24"), "\(plan.output)")
            let rehearsal = try await transfer(program, "generate", "--dry-run", "--json", "due,done")
            #expect(rehearsal.errors.contains("about 24 users"), "\(rehearsal.errors)")
            #expect(rehearsal.output == "{\n  \"done\": null,\n  \"due\": 24\n}\n", "\(rehearsal)")
            #expect(program.sandbox.journal.count(.appleMigration) == 0)

            let gone = try await generate(program, people)
            let lines = try await transfer(program, "export").output
            #expect(lines.split(separator: "\n").count == Self.people - 1)
            for person in people { #expect(!lines.contains(person.sub) && !lines.contains(person.email)) }
            for _ in 2...10 { #expect(try await transfer(program, "export").output == lines) }
            for person in people where person.id != gone.id {
                #expect(lines.contains(#""user_id":"\#(person.id.lowercased())"}"#), "\(lines)")
            }

            try await handOver(lines, program)
            try await exchange(program)
            try await apply(program, people, gone)
        }
    }

    /// Runs the sender's side, which is killed once and throttled once, and returns the person who revoked meanwhile.
    private func generate(_ program: AppleProgram, _ people: [AppleProgram.Person]) async throws -> AppleProgram.Person
    {
        let killed = try AccountctlProcess(
            ["apple", "transfer", "generate", AppleProgram.clientID, "--team", Self.recipient, "--rate", "1"],
            environment: program.variables
        )
        try await program.database.waitUntil(
            "(" + Self.identified + ") >= 3",
            changes: "accountctl.apple_transfers"
        )
        killed.signal(SIGKILL)
        #expect(try await killed.result().status == -SIGKILL)
        let kept = Int(try await program.database.psql("select count(*) from accountctl.apple_transfers")) ?? 0
        let asked = program.sandbox.journal.count(.appleMigration)
        #expect(asked - kept <= 1)
        #expect(kept < Self.people)

        // A person who was not asked about yet revokes: Apple does not move them.
        let done = try await program.database.psql("select user_id from accountctl.apple_transfers")
        let gone = try #require(people.first { !done.contains($0.id) })
        program.sandbox.apple.stopUsing(sub: gone.sub, clientID: AppleProgram.clientID)
        program.sandbox.faults.set(.status(429, retryAfter: "1").times(1), for: .appleMigration)
        let rest = try await transfer(program, "generate", "--rate", "200")
        #expect(rest.status == 0, "\(rest.errors)")
        #expect(try await program.database.psql(Self.identified) == "\(Self.people - 1)")
        // At most three users were asked about twice: the one in progress at the kill, the one whose request was
        // throttled, and the one whom Apple refused, because a refusal is believed only after a request with a new
        // token.
        #expect(program.sandbox.journal.count(.appleMigration) <= Self.people + 3)
        let again = try await transfer(program, "generate", "--json", "due,done,refused,doubted,stopped_by")
        #expect(again.status == 0)
        let nothing = """
            {
              "done": 0,
              "doubted": 0,
              "due": 0,
              "refused": 0,
              "stopped_by": null
            }

            """
        #expect(again.output == nothing, "\(again)")
        return gone
    }

    /// Imports the file at the recipient, whose database has no rows of the transfer.
    private func handOver(_ lines: String, _ program: AppleProgram) async throws {
        try await program.database.psql("delete from accountctl.apple_transfers")
        for damaged in [lines + "{\"user_id\":\n", lines.replacingOccurrences(of: "transfer_sub", with: "sub")] {
            let refused = try await transfer(program, "import", input: damaged)
            #expect(refused.status == 2)
            #expect(refused.errors.contains("transfer_sub"))
        }
        #expect(try await program.database.psql(Self.identified) == "0")
        let unknown = #"{"user_id":"00000000-0000-4000-8000-000000000000","transfer_sub":"t"}"#
        let taken = try await transfer(program, "import", input: lines + unknown + "\n")
        #expect(taken.status == 0)
        #expect(taken.errors.contains("23 of 24 lines are new"), "\(taken.errors)")
        #expect(taken.errors.contains("1 line names an account that this database does not have"))
        let twice = try await transfer(program, "import", input: lines)
        #expect(twice.errors.contains("0 of 23 lines are new"))
    }

    @Test("Every step refuses a client id that is not configured before it counts or imports anything")
    func unknownClient() async throws {
        try await AppleProgram.with { program in
            for step in ["status", "export", "import", "generate", "exchange", "apply"] {
                let refused = try await AccountctlProcess(
                    ["apple", "transfer", step, "com.example.nobody", "--team", Self.recipient],
                    environment: program.variables
                ).result()
                #expect(refused.status == 3 && refused.output.isEmpty, "\(step): \(refused)")
                #expect(refused.errors.contains("is not among the configured client ids"), "\(step): \(refused)")
            }
        }
    }

    @Test("An import names every bad line, its dry run counts the same, and a failed import logs nothing")
    func imports() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            func line(_ id: String) -> String { #"{"user_id":"\#(id)","transfer_sub":"t"}"# + "\n" }
            let lines = line(anna.id) + line("00000000-0000-4000-8000-000000000000")
            let kept = """
                select (select count(*) from accountctl.apple_transfers) || ' ' || count(*)
                from accountctl.operator_log where action = 'apple.transfer_import'
                """
            let nobody = line(anna.id).replacing(#""t""#, with: #""""#)
            let unstorable = line(anna.id).replacing(#""t""#, with: #""t\u0000""#)
            let bad = "\n{bad\n" + lines + "[]\n" + nobody + unstorable
            let damaged = try await transfer(program, "import", input: bad)
            #expect(damaged.status == 2, "\(damaged)")
            for number in 1...7 {
                #expect(damaged.errors.contains("line \(number):") == [2, 5, 6, 7].contains(number), "\(damaged)")
            }
            #expect(damaged.errors.contains("line 6: its transfer_sub is empty"), "\(damaged)")
            #expect(damaged.errors.contains("line 7: its transfer_sub has a NUL in it"), "\(damaged)")
            let rehearsal = try await transfer(program, "import", "--dry-run", input: lines)
            #expect(rehearsal.status == 0 && rehearsal.errors.contains("Would import 1 of 2 lines"), "\(rehearsal)")
            #expect(rehearsal.errors.contains("that this database does not have"), "\(rehearsal)")
            try await program.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin raise 'no'; end $$;
                create trigger refuse before insert on accountctl.apple_transfers
                    for each row execute function public.refuse();
                """
            )
            #expect(try await transfer(program, "import", input: lines).status == 1)
            #expect(try await program.database.psql(kept) == "0 0")
            try await program.database.psql("drop trigger refuse on accountctl.apple_transfers")
            #expect(try await transfer(program, "import", input: lines).status == 0)
            #expect(try await program.database.psql(kept) == "1 1")
        }
    }

    /// Runs the recipient's side, which fails with the sender's key and succeeds with its own.
    private func exchange(_ program: AppleProgram) async throws {
        program.sandbox.apple.acceptTransfer(of: AppleProgram.clientID)
        let early = try await transfer(program, "apply", "--confirm", AppleProgram.clientID)
        #expect(early.status == 0 && early.errors.contains("nothing to apply"))
        // The person who revoked before has no transfer identifier.
        #expect(early.errors.contains("1 user has no transfer identifier for team \(Self.recipient)"), "\(early)")
        let key = program.sandbox.apple.makeKey(teamID: Self.recipient)
        let asked = program.sandbox.journal.count(.appleMigration)
        let refused = try await transfer(program, "exchange", "--dry-run")
        #expect(refused.status == 2)
        let sender = program.sandbox.apple.developerKey.teamID
        for part in ["--team \(Self.recipient)", "apple.team_id is \(sender)"] {
            #expect(refused.errors.contains(part), "\(refused.errors)")
        }
        #expect(try await transfer(program, "exchange").status == 2)
        #expect(program.sandbox.journal.count(.appleMigration) == asked)
        // These settings combine the recipient's team with the sender's key.
        let wrong = ["ACCOUNTCTL_APPLE_TEAM_ID": Self.recipient]
        let stopped = try await transfer(program, "exchange", environment: wrong)
        #expect(stopped.status == 75)
        #expect(stopped.errors.contains("invalid_client"), "\(stopped.errors)")
        #expect(try await program.database.psql(Self.identified) == "\(Self.people - 1)")
        let own = [
            "ACCOUNTCTL_APPLE_TEAM_ID": key.teamID, "ACCOUNTCTL_APPLE_KEY_ID": key.keyID,
            "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try program.secretFile("recipient.p8", key.privateKey),
        ]
        let done = try await transfer(program, "exchange", "--rate", "200", "--json", "due,done", environment: own)
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output == "{\n  \"done\": 23,\n  \"due\": 23\n}\n", "\(done)")
    }

    private func apply(
        _ program: AppleProgram,
        _ people: [AppleProgram.Person],
        _ gone: AppleProgram.Person
    ) async throws {
        let before = try await program.database.psql(Self.identities)
        let rehearsal = try await transfer(program, "apply", "--dry-run")
        #expect(rehearsal.status == 0 && rehearsal.errors.contains("Would move 23 accounts"), "\(rehearsal.errors)")
        let unconfirmed = try await transfer(program, "apply")
        #expect(unconfirmed.status == 2)
        let marked = try await transfer(
            program,
            "apply",
            "--confirm",
            AppleProgram.clientID,
            environment: ["ACCOUNTCTL_PRODUCTION": "yes"]
        )
        #expect(marked.status == 2)
        #expect(marked.errors.contains("--production"))
        #expect(try await program.database.psql(Self.identities) == before)
        let applied = try await transfer(program, "apply", "--confirm", AppleProgram.clientID, "--json")
        #expect(applied.status == 0, "\(applied.errors)")
        let counts = "{\n  \"conflicts\": 0,\n  \"movable\": 23,\n  \"moved\": 23\n}\n"
        #expect(applied.output == counts, "\(applied)")
        let status = try await transfer(program, "status", "--json", "waiting,exchanged,applied,conflict")
        #expect(status.output.contains("\"applied\": 23"), "\(status.output)")
        let after = try await program.database.psql(Self.identities)
        for person in people { #expect(after.contains(person.sub) == (person.sub == gone.sub)) }
        // Users who hide their address now have the relay address of the new team.
        let kept = try await program.database.psql("select string_agg(email, ' ') from auth.users")
        for person in people { #expect(kept.contains(person.email) == (person.sub == gone.sub)) }
    }

    @Test("A dry run of apply has the exit code of the real run, for known and for new conflicts")
    func conflicts() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp(credential: false)
            try await program.database.psql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, updated_at)
                values ('002.other', '\(anna.id)', '{"sub": "002.other"}', 'apple', now(), now());
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, state)
                values ('\(anna.id)', '\(AppleProgram.clientID)', '\(Self.recipient)', 't', '003.new', 'exchanged')
                """
            )
            let state = "select state from accountctl.apple_transfers"
            for known in ["exchanged", "conflict"] {
                let rehearsal = try await transfer(program, "apply", "--dry-run")
                #expect(rehearsal.status == 6 && rehearsal.errors.contains("Would move 0 accounts"), "\(rehearsal)")
                #expect(try await program.database.psql(state) == known)
                let applied = try await transfer(
                    program,
                    "apply",
                    "--confirm",
                    AppleProgram.clientID,
                    "--json",
                    "moved,conflicts"
                )
                let counts = "{\n  \"conflicts\": 1,\n  \"moved\": 0\n}\n"
                #expect(applied.status == 6 && applied.output == counts, "\(applied)")
                #expect(try await program.database.psql(state) == "conflict")
            }
            // The status names the accounts that the operator has to decide about.
            let status = try await transfer(program, "status", "--json", "conflict_accounts")
            for part in [anna.id.lowercased(), "several_apple_identities"] {
                #expect(status.output.contains(part), "\(status)")
            }
        }
    }

    @Test("Apply names whom it could not move, and why; a refusal decides its exit code before a lock does")
    func unmoved() async throws {
        try await AppleProgram.with { program in
            let refused = try await program.signUp(credential: false)
            let locked = try await program.signUp(credential: false)
            let free = try await program.signUp(credential: false)
            for person in [refused, locked, free] {
                try await program.database.psql(
                    """
                    insert into accountctl.apple_transfers
                        (user_id, client_id, target_team, transfer_identifier, new_sub, state)
                    values (
                        '\(person.id)', '\(AppleProgram.clientID)', '\(Self.recipient)', 't', 'new \(person.sub)', 'exchanged'
                    )
                    """
                )
            }
            // What the server says of a row that another session holds locked.
            try await program.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    if new.user_id = '\(refused.id)' then
                        raise 'this one stays' using hint = 'Ask the web team.';
                    end if;
                    raise lock_not_available;
                end $$;
                create trigger refuse before update on accountctl.apple_transfers for each row
                    when (new.user_id <> '\(free.id)') execute function public.refuse();
                """
            )
            let applied = try await transfer(program, "apply", "--confirm", AppleProgram.clientID, "--json", "moved")
            #expect(applied.status == 1 && applied.output == "{\n  \"moved\": 1\n}\n", "\(applied)")
            for part in [
                "2 accounts could not be moved\n", "\(refused.id): this one stays\n", "\(locked.id): another session",
                "Ask the web team.",
            ] {
                #expect(applied.errors.contains(part), "\(part): \(applied)")
            }
            try await program.database.psql("delete from auth.users where id = '\(refused.id)'")
            let again = try await transfer(program, "apply", "--confirm", AppleProgram.clientID)
            #expect(again.status == 75 && again.errors.contains("1 account could not be moved\n"), "\(again)")
        }
    }

    @Test("Apply on a newer schema names the version that it needs")
    func newerSchema() async throws {
        try await AppleProgram.with(recorded: true) { program in
            let person = try await program.signUp(credential: false)
            try await program.database.psql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, state)
                values ('\(person.id)', '\(AppleProgram.clientID)', '\(Self.recipient)', 't', 'new', 'exchanged');
                insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
                values (9001, 'tomorrow', 'core', repeat('0', 64), 'done', 1, '99.1.0');
                alter table accountctl.apple_credentials rename to credentials;
                """
            )
            let applied = try await transfer(program, "apply", "--confirm", AppleProgram.clientID)
            #expect(applied.status == 5, "\(applied)")
            for part in ["ahead of this program", "99.1.0", "migrate status"] {
                #expect(applied.errors.contains(part), "\(part): \(applied)")
            }
        }
    }

    private static let identities = "select string_agg(provider_id, ' ' order by user_id) from auth.identities"
}
