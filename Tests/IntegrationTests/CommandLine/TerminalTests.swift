import Foundation
import TestSupport
import Testing

@Suite("At a terminal", .timeLimit(.minutes(5)))
struct TerminalTests {
    private static let escape = "\u{1B}["

    private func plain(_ screen: String) -> String {
        screen.replacingOccurrences(of: "\u{1B}\\[[0-9;]*m", with: "", options: .regularExpression)
    }

    @Test("A table longer than the screen goes to the pager; a short table or --no-pager does not")
    func pager() async throws {
        let mark = ["PAGER": "sed s/^/PAGED:/", "NO_COLOR": "1"]
        let long = try await TerminalSession.run(["config", "show"], environment: mark)
        let lines = long.screen.split(separator: "\n")
        #expect(lines.count > 24 && lines.allSatisfy { $0.hasPrefix("PAGED:") }, "\(long.screen)")
        let all = try await TerminalSession.run(["config", "show", "--no-pager"], environment: mark)
        #expect(all.screen == long.screen.replacingOccurrences(of: "PAGED:", with: ""))
        for arguments in [["config", "show", "--json"], ["config", "check"], ["completion", "bash"]] {
            let result = try await TerminalSession.run(arguments, environment: mark)
            #expect(!result.screen.contains("PAGED:"), "\(arguments)")
        }
        let high = try await TerminalSession.run(["config", "show"], environment: mark, rows: 200)
        #expect(high.screen == all.screen)
        let missing = try await TerminalSession.run(["config", "show"], environment: ["PAGER": "no-such-pager"])
        #expect(plain(missing.screen) == all.screen)
        let left = try await TerminalSession.run(["config", "show"], environment: ["PAGER": "head -n 1"], rows: 5)
        #expect(left.status == 0 && left.screen.split(separator: "\n").count == 1)
    }

    @Test("No line is wider than the terminal, and COLUMNS overrides its width")
    func width() async throws {
        for (columns, environment) in [(60, [:]), (120, [:]), (200, ["COLUMNS": "60"])] as [(Int, [String: String])] {
            let result = try await TerminalSession.run(
                ["config", "show", "--no-pager"],
                environment: environment,
                columns: columns
            )
            let widest = plain(result.screen).split(separator: "\n").map(\.count).max() ?? 0
            #expect(widest <= min(columns, Int(environment["COLUMNS"] ?? "") ?? columns) && widest > 40)
        }
        let told = try await TerminalSession.run(
            ["config", "show", "--no-pager"],
            environment: ["ACCOUNTCTL_LOG_LEVEL": "notice"],
            columns: 100
        )
        #expect(plain(told.screen).contains("variable ACCOUNTCTL_LOG_LEVEL"), "\(told.screen)")
    }

    @Test("Help says what the options mean on a terminal of any width")
    func narrowHelp() async throws {
        for words in [["user", "find", "--help"], ["help", "user", "find"], ["user", "find", "anna", "--help"]] {
            let shown = try await TerminalSession.run(words, columns: 20)
            #expect(shown.status == 0 && shown.screen.contains("Compare only"), "\(words): \(shown)")
            let piped = try await AccountctlProcess(words, environment: ["COLUMNS": "20"]).result()
            #expect(piped.status == 0 && piped.output.contains("Compare only"), "\(words): \(piped)")
        }
        // A group without a command answers with its help, too, and a mistake with its message.
        let group = try await TerminalSession.run(["jobs"], columns: 20)
        #expect(group.status == 0 && group.screen.contains("SUBCOMMANDS:"), "\(group)")
        let mistake = try await TerminalSession.run(["help", "user", "fnd"], columns: 20)
        #expect(mistake.status == 2 && mistake.screen.contains("Did you mean"), "\(mistake)")
    }

    @Test("Colour can be turned off, and carries nothing that the text does not say")
    func colour() async throws {
        let arguments = ["relay", "bounce", "explain", "550 5.1.1 <a@b.test>: unauthorized sender"]
        let coloured = try await TerminalSession.run(arguments)
        #expect(coloured.screen.contains(Self.escape))
        let without = try await TerminalSession.run(arguments, environment: ["NO_COLOR": "1"])
        #expect(plain(coloured.screen) == without.screen)
        #expect(without.screen.contains("configuration"))
        for (more, environment) in [(["--no-color"], [:]), ([], ["TERM": "dumb"])] as [([String], [String: String])] {
            #expect(try await TerminalSession.run(arguments + more, environment: environment).screen == without.screen)
        }
    }

    @Test("Every prompt names the environment; in production an irreversible command also needs --production")
    func environments() async throws {
        let folder = try TemporaryFolder("env").url
        defer { try? FileManager.default.removeItem(at: folder) }
        let keys = try TestKeys.make()
        defer { keys.remove() }
        try await TestDatabase.with(.migrated) { database in
            let user = UUID().uuidString.lowercased()
            try await database.psql(
                """
                insert into auth.users (id, email) values ('\(user)', 'anna@example.com');
                """
            )
            let file = folder.appendingPathComponent("accountctl.conf").path
            let url =
                "host=\(database.cluster.socket) port=\(database.cluster.port) user=postgres dbname=\(database.name)"
            try """
            environment = staging
            [environments.staging.database]
            url = \(url)
            [environments.live]
            production = yes
            [environments.live.database]
            url = \(url)
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let variables = keys.variables.merging(["ACCOUNTCTL_CONFIG": file, "NO_COLOR": "1"]) { $1 }

            let checked = try await AccountctlProcess(["config", "check"], environment: variables).result()
            #expect(checked.errors.contains("Of live, only keys and forms were checked;"), "\(checked)")

            let no = try await TerminalSession.run(
                ["jobs", "pause", "mail"],
                environment: variables,
                typing: "n\n"
            )
            #expect(no.status == 2 && no.screen.contains("[staging] Pause queue mail?"), "\(no.screen)")
            #expect(no.screen.contains("declined, nothing was changed"))

            let request = ["deletion", "request", user]
            let wrong = try await TerminalSession.run(request, environment: variables, typing: "yes\n")
            #expect(
                wrong.status == 2 && wrong.screen.contains("[staging] Delete the account \(user)"),
                "\(wrong.screen)"
            )

            let live = request + ["--environment", "live"]
            let typed = try await TerminalSession.run(live, environment: variables, typing: "\(user)\n")
            #expect(typed.status == 2 && typed.screen.contains("--production"), "\(typed.screen)")
            let confirmed = try await AccountctlProcess(live + ["--confirm", user], environment: variables).result()
            #expect(confirmed.status == 2 && confirmed.errors.contains("--production"))
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "0")

            let meant = try await TerminalSession.run(
                live + ["--production"],
                environment: variables,
                typing: "\(user)\n"
            )
            #expect(meant.status == 0 && meant.screen.contains("[live] Delete the account \(user)"), "\(meant.screen)")
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "1")

            let elsewhere = try await AccountctlProcess(
                ["user", "find", "x", "--environment", "stagin"],
                environment: variables
            ).result()
            #expect(elsewhere.status == 2 && elsewhere.errors.contains("did you mean staging?"), "\(elsewhere.errors)")
        }
    }
}
