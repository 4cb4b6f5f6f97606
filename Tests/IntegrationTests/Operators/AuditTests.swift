import Foundation
import TestSupport
import Testing

@Suite("The operators' log, as the program shows it", .timeLimit(.minutes(5)))
struct AuditTests {
    private static let anna = OperatorStage.id(1)

    @Test("A line says who did what, to whom, when and why, and confirms its account to whoever knows it")
    func lines() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let act = try await stage.run([
                "user", "suspend", Self.anna, "--for", "3d", "--reason", "spam", "--ticket", "T-7", "--yes",
            ])
            #expect(act.status == 0, "\(act.errors)")
            #expect(try await stage.run(["user", "sign-out", OperatorStage.id(2), "--yes"]).status == 0)
            let list = try await stage.run([
                "audit", "list", "--ticket", "T-7", "--json", "operator,database_role,action,reason,ticket",
            ])
            let line =
                #"{"action":"user.suspend","database_role":"postgres","operator":"olga","reason":"spam","ticket":"T-7"}"#
            #expect(list.output == "[\n\(line)\n]\n")

            let shown = try await stage.run(["audit", "show", "1", "--user", "u1@example.com", "--json"])
            #expect(shown.status == 0, "\(shown.errors)")
            for fact in [
                #""operator": "olga""#, #""database_role": "postgres""#, #""action": "user.suspend""#,
                #""is_about_user": true"#, #""ticket": "T-7""#, #""reason": "spam""#, #""machine_user": ""#,
            ] { #expect(shown.output.contains(fact), "\(fact) in \(shown.output)") }
            #expect(!shown.output.contains("example.com") && !shown.output.contains(Self.anna))
            #expect(try await stage.run(["audit", "show", "1", "--user", OperatorStage.id(2)]).status == 5)
            #expect(try await stage.run(["audit", "show", "99"]).status == 3)
            // Facts are JSON members of the line, not a text.
            #expect(try await stage.run(["jobs", "pause", "mail", "--yes"]).status == 0)
            let facts = try await stage.run(["audit", "list", "--action", "jobs.pause", "--json", "facts"])
            #expect(facts.output == "[\n{\"facts\":{\"queue\":\"mail\"}}\n]\n", "\(facts)")
            let starts = ["--action", "jobs.", "--action", "user.sus"]
            let both = try await stage.run(["audit", "list"] + starts + ["--tsv", "action"])
            #expect(both.output == "jobs.pause\nuser.suspend\n", "\(both)")
            let soon = try await stage.run(["audit", "list", "--until", "2100-01-01"] + starts + ["--tsv", "action"])
            #expect(soon.output == both.output, "\(soon)")
            let before = try await stage.run(["audit", "list", "--until", "1h", "--tsv", "action"])
            #expect(before.status == 0 && before.output.isEmpty, "\(before)")
            // Something was done, under a name that does not begin with this.
            let other = try await stage.run(["audit", "list", "--action", "suspend"])
            #expect(other.status == 0 && other.errors.hasPrefix("No such act. Actions have names such as "), "\(other)")
            // An act without facts has an empty object, in the list as well as alone.
            try await stage.database.psql("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'olga'")
            #expect(try await stage.run(["deletion", "resume", "--all", "--confirm=all"]).status == 0)
            let last = try await stage.database.psql("select max(id) from accountctl.operator_log")
            for words in [["list", "--action", "deletion.resume_all"], ["show", last]] {
                let none = try await stage.run(["audit"] + words + ["--json", "facts"])
                #expect(none.output.contains("{}"), "\(none)")
            }
            // The account is gone; whoever knows its id still finds what was done to it.
            try await stage.database.psql("delete from auth.users where id = '\(Self.anna)'")
            let later = try await stage.run(["audit", "list", "--user", Self.anna, "--json", "action"])
            #expect(later.output.contains("user.suspend"))
            #expect(try await stage.run(["audit", "show", "1", "--user", Self.anna]).status == 0)
        }
    }

    @Test("The id of a deleted account means that account, even if another one has it as its id at a provider")
    func sameIDAtProvider() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            #expect(try await stage.run(["user", "sign-out", Self.anna, "--reason", "lost phone"]).status == 0)
            // The person signed up again, and looks like somebody else at first sight.
            try await database.psql(
                """
                delete from auth.users where id = '\(Self.anna)';
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values ('\(Self.anna)', '\(OperatorStage.id(2))', '{}', 'keycloak', now());
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(Self.anna)', 'app', 'running', now(), now() + interval '1 month', now())
                """
            )
            for state in ["running", "erased"] {
                let both = try await stage.run(["user", "find", Self.anna, "--json", "id,state"])
                #expect(both.output.contains(OperatorStage.id(2)) && both.output.contains(state), "\(both)")
                let list = try await stage.run(["audit", "list", "--user", Self.anna, "--json", "reason"])
                #expect(list.status == 0 && list.output.contains("lost phone"), "\(list)")
                #expect(try await stage.run(["audit", "show", "1", "--user", Self.anna]).status == 0)
                try await database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = 'verified', finished_at = now(), user_id = null,
                        (subject_key_id, subject_hash) = (
                            select subject_key, subject_hash from accountctl.operator_log where id = 1
                        )
                    """
                )
            }
        }
    }

    @Test("If it is in doubt whether an act was done, the message names the log, which shows it")
    func inDoubt() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            try await TCPProxy.with(to: stage.database.cluster.port) { proxy in
                proxy.behaviour = .cutAt("\0commit\0", afterServerAnswered: true)
                let url = stage.database.conninfo(port: proxy.port)
                let act = ["user", "suspend", Self.anna, "--reason", "spam", "--yes", "--database-url", url]
                let lost = try await stage.run(act)
                #expect(lost.status == 75 && lost.errors.contains(" audit list shows it"), "\(lost)")
            }
            let list = try await stage.run(["audit", "list", "--json", "action"])
            #expect(list.output.contains("user.suspend"), "\(list)")
        }
    }

    @Test("The log has the operator's name without the line end of the file that the variable was made from")
    func lineEndOfName() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let act = try await AccountctlProcess(
                ["user", "sign-out", Self.anna],
                environment: stage.variables.merging(["ACCOUNTCTL_OPERATOR": "olga\r\n"]) { $1 }
            ).result()
            #expect(act.status == 0, "\(act)")
            let list = try await stage.run(["audit", "list", "--by", "olga", "--tsv", "operator,action"])
            #expect(list.output == "olga\tuser.sign_out\n", "\(list)")
        }
    }

    @Test("A narrow terminal shows what was done rather than the role; programs get the columns in their order")
    func narrowList() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let act = ["user", "suspend", Self.anna, "--reason", "looking into a complaint of last week", "--yes"]
            #expect(try await stage.run(act + ["--as", "alice.cooper"]).status == 0)
            let variables = stage.variables.merging(["NO_COLOR": "1"]) { $1 }
            // The beginning of the reason is not left out either, as long as there is room for the role.
            let wider = try await TerminalSession.run(["audit", "list"], environment: variables, columns: 76)
            #expect(wider.status == 0 && wider.screen.contains("user.suspend  looking"), "\(wider.screen)")
            let list = try await TerminalSession.run(["audit", "list"], environment: variables, columns: 60)
            #expect(list.status == 0 && list.screen.contains("  alice.cooper  user.suspend"), "\(list.screen)")
            #expect(list.screen.contains("No room for WHY and ROLE: "), "\(list.screen)")
            let line = try await stage.run(["audit", "list", "--tsv"]).output.split(separator: "\t")
            #expect(line.dropFirst(2).prefix(3) == ["alice.cooper", "postgres", "user.suspend"], "\(line)")
        }
    }

    @Test("Wrong use of the log names the option")
    func usage() async throws {
        for (words, hint) in [
            (["--limit", "0"], "--limit must be between 1 and 100000"), (["--limit", "100001"], "--limit"),
            (["--since", "soon"], "--since: \"soon\""), (["--until", "soon"], "--until: \"soon\""),
            (["--user", " "], "is not something to look for"),
            (["--since", "99999999d"], "--since must be at most 36500d ago"),
        ] {
            let result = try await AccountctlProcess(["audit", "list"] + words).result()
            #expect(result.status == 2 && result.output.isEmpty, "\(words): \(result.errors)")
            #expect(result.errors.contains(hint), "\(words): \(result.errors)")
        }
    }

    @Test(
        "Masked data is shown on request, and the request is logged before the data is shown",
        arguments: [
            (["user", "find", "u1@example.com"], "user.reveal"), (["user", "show", "u1@example.com"], "user.reveal"),
            (["user", "list"], "user.reveal_list"), (["relay", "addresses", "--list"], "relay.reveal_list"),
        ]
    )
    func reveal(_ command: [String], _ action: String) async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            try await stage.database.psql(
                """
                insert into accountctl.relay_addresses (user_id, address, apple_claim)
                values ('\(Self.anna)', 'u1@example.com', true);
                """
            )
            let masked = try await stage.run(command)
            #expect(masked.status == 0, "\(masked.errors)")
            #expect(!masked.output.contains("u1@example.com"))
            let count = "select count(*) from accountctl.operator_log"
            #expect(try await stage.database.psql(count) == "0")
            let shown = try await stage.run(command + ["--reveal", "--reason", "asked", "--ticket", "T-1"])
            #expect(shown.output.contains("u1@example.com"), "\(shown.output) \(shown.errors)")
            let log = "select action, reason, ticket from accountctl.operator_log"
            #expect(try await stage.database.psql(log) == "\(action)|asked|T-1")
            // Nothing is shown if the request cannot be logged.
            try await stage.database.psql(
                "revoke execute on all functions in schema accountctl from public, postgres, accountctl_operator"
            )
            try await stage.database.psql("alter function accountctl.log_operation owner to supabase_admin")
            let refused = try await stage.run(command + ["--reveal"])
            #expect(refused.status == 4, "\(refused.errors)")
            #expect(!refused.output.contains("u1@example.com"))
        }
    }
}
