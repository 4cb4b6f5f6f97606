import AccountLifecycle
import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("The apple commands", .timeLimit(.minutes(5)))
struct AppleCommandTests {
    @Test("Credentials and events are shown without secrets; a replay does not affect users who signed in since")
    func books() async throws {
        try await AppleProgram.with { program in
            let anna = try await program.signUp()
            #expect(try await program.run("worker", "--until-idle").status == 0)
            let held = try await program.database.psql("select id, sealed_token from accountctl.apple_credentials")
                .split(separator: "|").map(String.init)
            let credential = try #require(held.first)
            var shown = ""
            func run(_ arguments: String...) async throws -> AccountctlProcess.Result {
                let result = try await AccountctlProcess(["apple"] + arguments, environment: program.variables).result()
                shown += result.output + result.errors
                return result
            }
            let list = try await run("credentials", "list", "--json", "user_id,client_id,sealing_key")
            #expect(
                list.output.contains(
                    #"{"client_id":"com.example.app","sealing_key":"sealing","user_id":"\#(anna.id)"}"#
                ),
                "\(list.output)"
            )
            #expect(try await run("credentials", "show", credential).output.contains(anna.id))
            #expect(try await run("credentials", "list", "--client", "com.example.web", "--json").output == "[]\n")
            for (term, status, rows) in [(anna.email, 0, "\(anna.id)\n"), ("nobody", 3, "")]
                as [(String, Int32, String)]
            {
                let hers = try await program.run("apple", "credentials", "list", "--user", term, "--tsv", "user_id")
                #expect(hers.status == status && hers.output == rows, "\(hers)")
            }
            #expect(try await run("credentials", "show", "999999").status == 3)

            try await program.withListener("serve") { _, url in
                var told = AppleNotification(
                    .accountDeleted,
                    sub: anna.sub,
                    audience: AppleProgram.clientID,
                    eventTime: Date() - 7200,
                    issuedAt: Date() - 7200
                )
                try await program.sandbox.notifications.post(told, to: url)
                (told.sub, told.identifier) = ("001.stranger.9", "another")
                try await program.sandbox.notifications.post(told, to: url)
                told = AppleNotification(
                    .emailDisabled,
                    sub: anna.sub,
                    audience: AppleProgram.clientID,
                    eventTime: Date(),
                    email: anna.email,
                    isPrivateEmail: true
                )
                try await program.sandbox.notifications.post(told, to: url)
            }
            let event = "1"
            #expect(try await run("events", "list", "--outcome", "waiting", "--json", "id").output.contains(event))
            #expect(try await program.run("worker", "--until-idle").status == 0)
            #expect(try await run("events", "show", event, "--json", "outcome").output.contains("stale"))
            #expect(try await run("events", "list", "--kind", "account-deleted").status == 0)
            let hers = try await program.run("apple", "events", "list", "--user", anna.email, "--tsv", "kind")
            #expect(hers.output.contains("account-deleted"), "\(hers)")
            #expect(try await run("events", "list", "--kind", "other.new").status == 0)
            let mistyped = try await run("events", "list", "--kind", "account_deleted")
            #expect(mistyped.status == 2)
            #expect(mistyped.errors.contains("did you mean account-deleted?"), "\(mistyped)")
            let help = try await run("events", "list", "--help").output
            for kind in CredentialBooks.kinds { #expect(help.contains(kind), "\(kind)") }
            let rehearsal = try await run("events", "replay", event, "--dry-run")
            #expect(rehearsal.status == 0)
            let waiting = "select count(*) from accountctl.credential_events where outcome is null"
            #expect(try await program.database.psql(waiting) == "0")
            #expect(try await run("events", "replay", event).status == 0)
            #expect(try await program.database.psql(waiting) == "1")
            #expect(try await program.run("worker", "--until-idle").status == 0)
            #expect(try await run("events", "show", event, "--json", "outcome").output.contains("stale"))
            #expect(try await program.database.psql("select count(*) from auth.sessions") == "1")
            // An event about an unknown user, an event about an address, and an event that does not exist.
            for (refused, status) in [("2", 6), ("3", 6), ("999999", 3)] as [(String, Int32)] {
                #expect(try await run("events", "replay", refused, "--dry-run").status == status, "\(refused)")
                #expect(try await run("events", "replay", refused).status == status, "\(refused)")
            }
            for wrong in [
                ["credentials", "list", "--user", " "], ["credentials", "list", "--limit", "0"],
                ["credentials", "show", "one"], ["events", "list", "--user", " "],
                ["events", "list", "--limit", "10001"], ["events", "replay"],
            ] {
                let result = try await AccountctlProcess(["apple"] + wrong, environment: program.variables).result()
                #expect(result.status == 2, "\(wrong)")
                #expect(result.output.isEmpty)
            }
            for secret in [anna.sub, anna.email, anna.code, held.last ?? "", "stranger"] {
                #expect(!shown.contains(secret), "\(secret) was shown")
            }
        }
    }

    @Test("Credentials move to a new sealing key while a worker stores more, and a missing key is named")
    func vault() async throws {
        try await AppleProgram.with { program in
            for _ in 0..<5 { _ = try await program.signUp() }
            #expect(try await program.run("worker", "--until-idle").status == 0)
            let file = try #require(program.variables["ACCOUNTCTL_KEYS_SEALING_FILE"])
            let first = try String(contentsOfFile: file, encoding: .utf8)
            let second = try await AccountctlProcess.run("keys", "new", "second").output
            let both = ["ACCOUNTCTL_KEYS_SEALING_FILE": try program.secretFile("both.keys", first + second)]
            try await program.database.psql(
                """
                insert into accountctl.pending_revocations (client_id, sealed_token, sealing_key_id, binding, give_up_at)
                select client_id, sealed_token, sealing_key_id, gen_random_uuid(), now() + interval '1 day'
                from accountctl.apple_credentials
                limit 1
                """
            )
            let counted = try await program.run("apple", "vault", "rotate", "--dry-run", environment: both)
            #expect(
                counted.errors.contains("Would move 5 credentials and 1 pending revocation to key \"second\""),
                "\(counted)"
            )
            // Its token was copied, and opens for nobody.
            try await program.database.psql("delete from accountctl.pending_revocations")
            let worker = try AccountctlProcess(["worker"], environment: program.variables.merging(both) { $1 })
            defer { worker.signal(SIGKILL) }
            #expect(try await worker.waitForErrors(containing: "worker registered"))
            let planned = try await program.run("apple", "vault", "rotate", "--dry-run", environment: both)
            #expect(planned.errors.contains("Would move 5 credentials to key \"second\""), "\(planned.errors)")
            async let moved = program.run("apple", "vault", "rotate", environment: both)
            for _ in 0..<3 { _ = try await program.signUp() }
            #expect(try await moved.status == 0)
            try await program.database.waitUntil(
                "8 = (select count(*) from accountctl.apple_credentials where sealing_key_id = 'second')",
                changes: "accountctl.apple_credentials"
            )
            worker.signal(SIGTERM)
            #expect(try await worker.result().status == 0)
            let fields = "key,state,credentials"
            let status = try await program.run("apple", "vault", "status", "--json", fields, environment: both)
            #expect(status.status == 0)
            #expect(status.output.contains(#"{"credentials":0,"key":"sealing","state":"unused"}"#), "\(status.output)")
            #expect(status.output.contains(#"{"credentials":8,"key":"second","state":"sealing"}"#), "\(status.output)")

            // Moved credentials can be unsealed: they move on to a third key without the first one in the file.
            let third = try await AccountctlProcess.run("keys", "new", "third").output
            let next = ["ACCOUNTCTL_KEYS_SEALING_FILE": try program.secretFile("next.keys", second + third)]
            let again = try await program.run("apple", "vault", "rotate", environment: next)
            #expect(again.status == 0)
            #expect(
                again.errors.contains("Moved 8 credentials to key \"third\". accountctl apple vault status shows"),
                "\(again.errors)"
            )

            // The key that is needed now is missing from the file, and then the file has another key under its name.
            let missing = try await program.run("apple", "vault", "status", "--json", "key,state", environment: both)
            #expect(missing.status == 5)
            #expect(missing.output.contains(#"{"key":"third","state":"missing"}"#), "\(missing.output)")
            let refused = try await program.run("worker", "--until-idle", environment: both)
            #expect(refused.status == 5)
            #expect(refused.errors.contains("third"))
            let false3 = try await AccountctlProcess.run("keys", "new", "third").output
            let wrong = ["ACCOUNTCTL_KEYS_SEALING_FILE": try program.secretFile("wrong.keys", second + false3)]
            let other = try await program.run("apple", "vault", "rotate", environment: wrong)
            #expect(other.status == 5)
            #expect(other.errors.contains("is not the key that sealed here"))
        }
    }

    @Test("A client secret can be printed, and inspect says what a file holds instead of a valid one")
    func clientSecret() async throws {
        try await AppleProgram.with { program in
            let printed = try await program.run("apple", "client-secret", "print", "com.example.web")
            #expect(printed.status == 0)
            #expect(printed.output.hasPrefix("eyJ"))
            let fields = "client_id,team_id,key_id,days_left"
            let good = try await program.run(
                "apple",
                "client-secret",
                "inspect",
                "-",
                "--json",
                fields,
                input: printed.output
            )
            #expect(good.status == 0)
            let developer = program.sandbox.apple.developerKey
            for part in ["com.example.web", developer.teamID, developer.keyID, "179"] {
                #expect(good.output.contains(part), "\(good.output)")
            }
            let short = try await program.run("apple", "client-secret", "print", "com.example.web", "--life", "10d")
            let token = short.output.trimmingCharacters(in: .whitespacesAndNewlines)
            for (text, status) in [
                (short.output, Int32(1)), (developer.privateKey, 5), ("sesame", 2), ("", 2),
                (String(token.dropFirst(3)), 2), (String(token.dropLast(3)), 5),
            ] {
                let result = try await program.run(
                    "apple",
                    "client-secret",
                    "inspect",
                    try program.secretFile("secret-\(UUID())", text)
                )
                #expect(result.status == status, "\(result.output)\(result.errors)")
                let written = result.output + result.errors
                #expect(!written.contains(token.suffix(20)))
                #expect(!written.contains("PRIVATE KEY"))
            }
            let unknown = try await program.run("apple", "client-secret", "print", "com.example.other")
            #expect(unknown.status == 3)
            #expect(unknown.errors.contains("com.example.web"))
            let long = try await program.run("apple", "client-secret", "print", "com.example.web", "--life", "183d")
            #expect(long.status == 2)
            #expect(long.output.isEmpty)
        }
    }

    @Test("apple test says which team and key Apple rejects, and when Apple cannot be reached")
    func test() async throws {
        try await AppleProgram.with { program in
            let good = try await program.run("apple", "test", "--json", "client_id,result")
            #expect(good.status == 0)
            #expect(good.output.contains(#"{"client_id":"com.example.app","result":"good"}"#), "\(good.output)")
            program.sandbox.faults.set(Fault(.html(status: 503)), for: .appleToken)
            let away = try await program.run("apple", "test", environment: ["ACCOUNTCTL_APPLE_TIMEOUT": "1s"])
            #expect(away.status == 75)
            program.sandbox.faults.clearAll()
            let developer = program.sandbox.apple.developerKey
            program.sandbox.apple.revokeKey(developer.keyID)
            let rejected = try await program.run("apple", "test", "--json")
            #expect(rejected.status == 4)
            #expect(rejected.output.contains("team \(developer.teamID), key \(developer.keyID)"), "\(rejected.output)")
            #expect(rejected.output.contains("invalid_client"))
            // The error log has no line of a worker: a test pauses nothing.
            #expect(!rejected.errors.contains("invalid_client"), "\(rejected.errors)")
            let examined = try await program.run("doctor")
            #expect(examined.output.contains("invalid_client"), "\(examined)")
            #expect(!examined.errors.contains("invalid_client"), "\(examined.errors)")
        }
    }
}
