import Foundation
import FoundationNetworking
import Sandbox
import TestSupport
import Testing

@Suite("Secrets in logs, metrics and tables", .timeLimit(.minutes(5)))
struct SecrecyProcessTests {
    @Test("Logs, metrics and commands show no code, token, key or address; tables keep no secret except an open code")
    func nothingShown() async throws {
        try await AppleProgram.with { program in
            let (anna, ben) = (try await program.signUp(), try await program.signUp(credential: false))
            // A used code of somebody else, and a code that Apple never issued.
            try await program.submit(anna.code, of: ben)
            try await program.submit("c-planted-code-that-is-none", of: ben)
            try await program.database.psql(
                """
                set role authenticated;
                select set_config('request.jwt.claims', '{"sub": "\(anna.id)"}', false);
                select public.report_apple_credential_state('revoked', '\(AppleProgram.clientID)');
                """
            )
            var said = ""
            let environment = ["ACCOUNTCTL_LOG_LEVEL": "trace", "ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]
            var forged = ""
            try await program.withListener("worker", environment: environment) { process, url in
                try await program.database.waitUntil(
                    "not exists (select from accountctl.authorization_codes where code is not null)",
                    changes: "accountctl.authorization_codes"
                )
                let told = AppleNotification(
                    .consentRevoked,
                    sub: ben.sub,
                    audience: AppleProgram.clientID,
                    eventTime: Date(),
                    email: ben.email,
                    issuedAt: Date()
                )
                try await program.sandbox.notifications.post(told, to: url)
                forged = try program.sandbox.notifications.body(told, forgery: .foreignKey)
                _ = try await program.sandbox.notifications.post(body: forged, to: url)
                try await program.database.waitUntil(
                    "(select count(*) = 2 and count(handled_at) = 2 from accountctl.credential_events)",
                    changes: "accountctl.credential_events"
                )
                // Apple now rejects the key: error messages are where secrets leak.
                program.sandbox.apple.revokeKey(program.sandbox.apple.developerKey.keyID)
                _ = try await program.signUp()
                #expect(try await process.waitForErrors(containing: "Apple rejects this client id"))
                said += try await metrics(process)
                process.signal(SIGTERM)
                let result = try await process.result()
                #expect(result.status == 0)
                said += result.output + result.errors
            }
            for arguments in [["doctor"], ["apple", "test"], ["apple", "events", "list"], ["config", "show"]] {
                let result = try await AccountctlProcess(
                    arguments + ["--log-level", "trace"],
                    environment: program.variables
                ).result()
                said += result.output + result.errors
            }
            let kept = try await TestCluster.command([
                "pg_dump", "--data-only", "--schema=accountctl", "-d",
                program.database.cluster.conninfo(database: program.database.name, user: "supabase_admin"),
            ])
            #expect(kept.contains("apple_credentials"))
            // The code that could not be exchanged yet is still needed; it is wiped when its five minutes are over.
            let open = try await program.database.psql(
                "select string_agg(code, ' ') from accountctl.authorization_codes where code is not null"
            )
            var secrets = program.sandbox.apple.secrets + ["c-planted-code-that-is-none"]
            secrets += program.sandbox.apple.developerKey.privateKey.split(separator: "\n").dropFirst().dropLast()
                .map(String.init)
            for name in ["ACCOUNTCTL_KEYS_SEALING_FILE", "ACCOUNTCTL_KEYS_HASH_FILE"] {
                let line = try String(contentsOfFile: program.variables[name] ?? "", encoding: .utf8)
                secrets.append(String(line.split(separator: ":").last ?? "").trimmingCharacters(in: .newlines))
            }
            secrets.append(String((forged.split(separator: ".").last ?? "").dropLast(2)))
            #expect(secrets.count > 8)
            for secret in secrets {
                #expect(secret.count > 8)
                #expect(!said.contains(secret), "said \(secret)")
                #expect(open.contains(secret) || !kept.contains(secret), "kept \(secret)")
            }
            for person in [anna, ben] {
                #expect(!said.contains(person.email))
                #expect(!said.contains(person.sub))
            }
        }
    }

    @Test("The process writes no core file, and leaves no memory to a collector of core dumps")
    func coreDumps() async throws {
        try await AppleProgram.with { program in
            try await program.withListener("serve") { process, _ in
                let limits = try String(contentsOfFile: "/proc/\(process.id)/limits", encoding: .utf8)
                let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
                #expect(core.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(core)")
                let filter = try String(contentsOfFile: "/proc/\(process.id)/coredump_filter", encoding: .utf8)
                #expect(filter == "00000000\n")
            }
        }
    }

    private func metrics(_ process: AccountctlProcess) async throws -> String {
        let line = process.errorsSoFar.split(separator: "\n").first { $0.contains("admin listener started") } ?? ""
        let port = try #require(line.firstMatch(of: /"port":"(\d+)"/)?.1)
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/metrics"))
        let text = String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
        #expect(text.contains("apple_notifications_total"))
        return text
    }
}
