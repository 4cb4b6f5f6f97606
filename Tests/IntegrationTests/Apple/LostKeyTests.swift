import Foundation
import TestSupport
import Testing

/// The program can go on after a sealing key is lost for good: each way out works and reports what was lost.
@Suite("A lost sealing key", .timeLimit(.minutes(5)))
struct LostKeyTests {
    private let now = ["ACCOUNTCTL_DELETION_TOKEN_LIFE": "0s", "ACCOUNTCTL_DELETION_UPLOAD_LIFE": "0s"]

    private func requestDeletion(of person: AppleProgram.Person, _ program: AppleProgram) async throws -> String {
        try await program.database.psql(
            "select request_id from accountctl.open_deletion_request('\(person.id)', 'operator', null, '0 seconds')"
        )
    }

    private func outcome(_ request: String, _ program: AppleProgram) async throws -> String {
        try await program.database.psql(
            """
            select r.state, r.apple_outcome, s.outcome
            from accountctl.deletion_requests as r
            join accountctl.deletion_steps as s on s.request_id = r.id and s.step = 'verify'
            where r.id = '\(request)'
            """
        )
    }

    @Test(
        "A worker starts again once nothing needs the key: proceed gives up one request's data, forget-key all of it"
    )
    func waysOut() async throws {
        try await AppleProgram.with { program in
            try await program.database.psql("create table public.kept (note text)")
            var people: [AppleProgram.Person] = []
            for _ in 0..<3 { people.append(try await program.signUp(credential: people.count == 2)) }
            var requests: [String] = []
            for person in people.prefix(2) {
                try await program.database.psql("insert into public.kept values ('\(person.email)')")
                requests.append(try await requestDeletion(of: person, program))
            }
            #expect(try await program.run("worker", "--until-idle", environment: now).status == 0)
            let waiting = "select count(*) from accountctl.deletion_requests where state = 'residue'"
            #expect(try await program.database.psql(waiting) == "2")
            #expect(try await program.database.psql("select count(*) from accountctl.apple_credentials") == "1")
            try await program.database.psql("drop table public.kept")

            let second = try await AccountctlProcess.run("keys", "new", "second").output
            let lost = now.merging(["ACCOUNTCTL_KEYS_SEALING_FILE": try program.secretFile("second.keys", second)]) {
                $1
            }
            func work() async throws -> AccountctlProcess.Result {
                try await program.run("worker", "--until-idle", environment: lost)
            }
            let refused = try await work()
            #expect(refused.status == 5)
            #expect(refused.errors.contains("forget-key"), "\(refused.errors)")
            #expect(refused.errors.contains("keys.sealing_file lacks \"sealing\", which"), "\(refused.errors)")

            // While the key is present, no command gives up what it seals.
            for consent in ["--dry-run", "--confirm=\(requests[0])"] {
                let words = ["deletion", "proceed", requests[0], "--without-identifiers", consent, "--json"]
                let kept = try await AccountctlProcess(words, environment: program.variables).result()
                #expect(kept.status == 6 && kept.errors.contains("is in keys.sealing_file"), "\(kept)")
                #expect(kept.output.contains(#""refusal": "nothing_lost""#), "\(kept)")
            }
            let givenUp = "select count(*) from accountctl.deletion_requests where without_identifiers"
            #expect(try await program.database.psql(givenUp) == "0")

            // One request proceeds without identifiers; another request and a credential still need the key.
            let proceed = try await program.run(
                "deletion",
                "proceed",
                requests[0],
                "--without-identifiers",
                "--confirm",
                requests[0],
                environment: lost
            )
            #expect(proceed.status == 0, "\(proceed.errors)")
            let fields = "key,credentials,deletion_requests,state"
            let status = try await program.run("apple", "vault", "status", "--json", fields, environment: lost)
            #expect(
                status.output.contains(#"{"credentials":1,"deletion_requests":1,"key":"sealing","state":"missing"}"#),
                "\(status.output)"
            )
            #expect(try await work().status == 5)

            func forget(_ words: String...) async throws -> AccountctlProcess.Result {
                try await AccountctlProcess(
                    ["apple", "vault", "forget-key"] + words,
                    environment: program.variables.merging(lost) { $1 }
                ).result()
            }
            let planned = try await forget("sealing", "--dry-run")
            #expect(planned.status == 0)
            #expect(planned.errors.contains("Would give up 1 credential, 0 pending revocations"), "\(planned.errors)")
            #expect(try await forget("sealing").status == 2)
            #expect(try await forget("sealing", "--confirm", "second").status == 2)
            #expect(try await forget("second", "--confirm", "second").status == 3)
            #expect(try await program.database.psql("select count(*) from accountctl.apple_credentials") == "1")
            let present = try await program.run("apple", "vault", "forget-key", "sealing", "--confirm", "sealing")
            #expect(present.status == 6, "\(present.errors)")

            let given = try await forget("sealing", "--confirm", "sealing", "--reason", "fire")
            #expect(given.status == 0, "\(given.errors)")
            let line = "select facts ->> 'key', reason from accountctl.operator_log where action = 'apple.forget_key'"
            #expect(try await program.database.psql(line) == "sealing|fire")
            requests.append(try await requestDeletion(of: people[2], program))
            let worked = try await work()
            #expect(worked.status == 0, "\(worked.errors)")
            #expect(try await outcome(requests[0], program) == "verified|not_held|not_verifiable")
            #expect(try await outcome(requests[1], program) == "verified|not_held|not_verifiable")
            // The grant at Apple was not revoked, and the outcome and the receipt say so.
            #expect(try await outcome(requests[2], program) == "verified|not_revoked|ok")
            let receipt =
                "select document ->> 'apple' from accountctl.deletion_receipts where request_id = '\(requests[2])'"
            #expect(try await program.database.psql(receipt) == "not_revoked")
        }
    }

    @Test("A running worker reads a key that was added to its file")
    func addedLater() async throws {
        try await AppleProgram.with { program in
            let person = try await program.signUp()
            #expect(try await program.run("worker", "--until-idle").status == 0)
            // The credentials are moved aside until the second worker has started: it refuses to start without their
            // key.
            try await program.database.psql(
                """
                create table public.aside as select * from accountctl.apple_credentials;
                delete from accountctl.apple_credentials;
                """
            )
            let first = try String(
                contentsOfFile: try #require(program.variables["ACCOUNTCTL_KEYS_SEALING_FILE"]),
                encoding: .utf8
            )
            let second = try await AccountctlProcess.run("keys", "new", "second").output
            let file = try program.secretFile("workers.keys", second)
            let worker = try AccountctlProcess(
                ["worker"],
                environment: program.variables.merging(now) { $1 }
                    .merging(["ACCOUNTCTL_KEYS_SEALING_FILE": file]) { $1 }
            )
            defer { worker.signal(SIGKILL) }
            #expect(try await worker.waitForErrors(containing: "worker registered"))
            _ = try program.secretFile("workers.keys", first + second)
            try await program.database.psql(
                """
                insert into accountctl.apple_credentials overriding system value select * from public.aside;
                drop table public.aside;
                """
            )
            let request = try await requestDeletion(of: person, program)
            try await program.database.waitUntil(
                "exists (select from accountctl.deletion_requests where state = 'verified')",
                changes: "accountctl.deletion_requests"
            )
            #expect(try await outcome(request, program) == "verified|revoked|ok")
            worker.signal(SIGTERM)
            let result = try await worker.result()
            #expect(result.status == 0)
            #expect(result.errors.contains("the sealing keys were read again"))
        }
    }
}
