import AccountLifecycle
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("The command line", .timeLimit(.minutes(5)))
struct CommandLineTests {
    @Test func versionAndHelp() async throws {
        let version = try await AccountctlProcess.run("--version")
        #expect(version.status == 0)
        #expect(version.output.hasPrefix("accountctl "))
        let help = try await AccountctlProcess.run("--help")
        #expect(help.status == 0)
        #expect(help.errors.isEmpty)
        for code in ["  0  done", " 75  temporary failure", "130  interrupted"] { #expect(help.output.contains(code)) }
    }

    @Test(
        "For a word that names no command, the commands are suggested that may be meant",
        arguments: [
            (["migrat", "up"], "Did you mean: accountctl migrate"),
            (["config", "chek"], "Did you mean: accountctl config check"),
            (["hlep", "user"], "Did you mean: accountctl help\n"),
            (["find", "anna"], "Did you mean: accountctl user find\n"),
            (["delete", "anna"], "Did you mean: accountctl deletion request\n"),
            (["user", "delete", "anna"], "Did you mean: accountctl deletion request\n"),
            (["user", "ban", "anna"], "Did you mean: accountctl user suspend\n"),
            (["deletion", "status", "42"], "Did you mean: accountctl deletion show\n"),
            (["status"], "Did you mean: accountctl doctor\n"),
            (["deletio", "lst"], "Did you mean: accountctl deletion\n"),
            (["pause"], "Did you mean: accountctl jobs pause or accountctl deletion pause\n"),
            (["user", "doctor"], "Did you mean: accountctl doctor\n"),
            (["deleting"], "Did you mean: accountctl deletion\n"),
            // Not the similar name of a command that does something else: a rehearsal is a real deletion.
            (["deletion", "release", "x"], "Did you mean: accountctl user release\n"),
            (["user", "rehearse", "x"], "Did you mean: accountctl deletion rehearse\n"),
            (["user", "unhold", "x"], "Did you mean: accountctl user release\n"),
            (["jobs", "unpause", "apple"], "Did you mean: accountctl jobs resume\n"),
            (["jobs", "status"], "Did you mean: accountctl jobs stats\n"),
            (["deletion", "remove", "x"], "accountctl deletion request or accountctl deletion cancel\n"),
            // Not the deletion of an account, and not that of a mail stream.
            (["jobs", "delete", "42"], "Did you mean: accountctl jobs cancel\n"),
            (["jobs", "remove", "42"], "Did you mean: accountctl jobs cancel\n"),
            // Not config: a similar name outside the group means something else.
            (["deletion", "confirm"], "accountctl deletion confirm\"\nSee: accountctl deletion --help"),
            (["apply"], "Did you mean: accountctl migrate up\n"),
        ]
    )
    func strayWord(_ words: [String], _ hint: String) throws {
        let mistake = try #require(CommandPath(root: Accountctl.self, words: words).mistake)
        #expect(mistake.status == .usage)
        let said = mistake.message + "\n" + (mistake.hint ?? "")
        #expect(said.contains(hint), "\(said)")
    }

    /// `help help` and `manual help` ask about a command that only the parser has.
    @Test("For help itself, which has no help, help is not suggested")
    func helpItself() {
        let mistake = CommandPath(root: Accountctl.self, words: ["help"]).mistake
        #expect(mistake?.hint == "See: accountctl --help")
    }

    @Test(
        "A mistake on the command line is named, with what may be meant, and the exit code is 2",
        arguments: [
            (["deletion", "resume", "--all", "-y"], "with --confirm and what the question asks for\n"),
            (["config", "check", "--confg", "x"], "--config"),
            (["user", "find"], "term"),
            (["config", "show", "--format", "xml"], "ndjson"),
            (["deletion", "list", "--state", "blocked", "--all"], "--all and --state cannot be combined"),
            (["apple", "events", "list", "--outcome", "not_conirmed"], "did you mean not_confirmed?"),
            (["deletion", "request", "--file", "ids", "--by", "email"], "--by applies to a term"),
            (["audit", "list", "--limit", "-1"], "--limit must be between 1 and 100000"),
            (["user", "list", "--limit", "-1"], "--limit must be at least 1"),
            (["jobs", "show", "abc"], "'<id>': it takes a whole number"),
            (["jobs", "list", "--limit", "99999999999999999999"], "'--limit <count>': it is out of bounds"),
            (["jobs", "list", "--limit", "+99999999999999999999"], "'--limit <count>': it is out of bounds"),
            (["jobs", "show", "--", "-99999999999999999999"], "'<id>': it is out of bounds"),
            (["jobs", "cancel", "--state", "scheduled"], "Unknown option '--state'"),
            (["jobs", "cancel", "--reason", "x", "abc"], "'<ids>': it takes a whole number"),
            (["audit", "list", "--action", "del%"], "--action contains \"%\""),
            (["user", "list", "--deletion-state", "verified"], "residue"),
            (["user", "list", "--held", "--no-held"], "--no-held"),
            (["migrate", "up", "--without-profiles", "--visibility", "own"], "cannot be combined"),
            (["deletion", "request", "--file", "ids", "--rate", "50"], "such as 50/s"),
            (["keys", "new", "x", "--output", ""], "--output is empty"),
        ]
    )
    func mistake(_ words: [String], _ hint: String) throws {
        let mistake = try #require(CommandLineMistake(words))
        #expect(mistake.status == 2)
        #expect(mistake.errors.contains(hint), "\(mistake.errors)")
    }

    @Test(
        "A mistyped command prints a hint on standard error and exits with 2",
        arguments: [
            (["user", "anna@example.com"], "Did you mean: accountctl user find anna@example.com\n"),
            (["deletion", "confirm"], "accountctl deletion confirm\"\nSee: accountctl deletion --help\n"),
            (["deletion", "request", "anna@example.com", "--yes"], "Unknown option '--yes': what cannot be undone is"),
            (["config", "show", "--json", "key,vlaue"], "Did you mean value?"),
            (["user", "suspend", "anna", "--reason", "spam", "--for", "x"], "--for must be a length of time"),
            (["user", "find", "anna", "--json", "emial"], "Did you mean email?"),
            (["user", "find", "anna", "--json", "emial"], "before the option, or after --"),
            (["user", "find", "--json", "emial", "anna"], "Did you mean email?"),
            (["--tsv", "stat", "user", "list"], "Did you mean state?"),
            (["deletion", "list", "--json", "account"], "there is no field \"account\""),
            (["deletion", "list", "--limit", "10x"], "'--limit <count>': it takes a whole number"),
            (["jobs", "list", "--state", "discarded", "--exhausted"], "--exhausted applies to unfinished jobs only"),
            (["jobs", "retry", "--state", "discarded", "--exhausted"], "--exhausted applies to unfinished jobs only"),
            (["jobs", "retry", "--state", "completed"], "--state completed"),
            (["jobs", "retry", "--state", "running"], "--state running"),
            (["jobs", "snooze", "1", "--for", "-5m"], "--for must be"),
            (["config", "show", "--config", ""], "--config is empty"),
        ]
    )
    func mistyped(_ arguments: [String], _ hint: String) async throws {
        let result = try await AccountctlProcess(arguments).result()
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(hint), "\(result.errors)")
    }

    @Test("The help of apple events list names every outcome")
    func outcomes() async throws {
        let help = try await AccountctlProcess.run("apple", "events", "list", "--help")
        for outcome in CredentialRules.Outcome.allCases.map(\.rawValue) + ["waiting"] {
            #expect(help.output.contains("\n  \(outcome) "), "\(outcome)")
        }
    }

    @Test("--json takes a list of fields as the next word and leaves operands alone")
    func jsonOption() async throws {
        let fields = try await AccountctlProcess.run("config", "show", "--json", "key,value")
        #expect(fields.output.contains(#"{"key":"deletion.grace","value":"1d"}"#))
        let leading = try await AccountctlProcess.run("--json", "config", "show")
        #expect(leading.output.hasPrefix("[\n{\"default\":"))
        try await TestDatabase.with(.migrated) { database in
            let find = try await AccountctlProcess.run(
                "user",
                "find",
                "--json",
                "nobody@example.com",
                environment: database.variables
            )
            #expect(find.output.hasPrefix("[\n{") && find.output.contains(#""state":"not_found""#))
            #expect(find.status == 3)
        }
    }

    @Test(
        "Fields may follow an option before or within the command; a dotted word is a field only where columns have dotted names",
        arguments: [
            (["relay", "check", "--json", "spf.example.com"], ["relay", "check", "--json=all", "spf.example.com"]),
            (["user", "find", "--json", "anna"], ["user", "find", "--json=all", "anna"]),
            (["user", "find", "--", "--json", "emial"], ["user", "find", "--", "--json", "emial"]),
            (["user", "find", "--json", "emil"], ["user", "find", "--json=all", "emil"]),
            (["user", "show", "--reveal", "--csv", "job"], ["user", "show", "--reveal", "--csv=all", "job"]),
            (["relay", "check", "--csv", "spf.example.com"], ["relay", "check", "--csv=all", "spf.example.com"]),
            (["relay", "check", "--tsv", "spf,dkim", "x.de"], ["relay", "check", "--tsv=spf,dkim", "x.de"]),
            (["user", "show", "--json", "auth.email"], ["user", "show", "--json=all", "auth.email"]),
            (["user", "show", "--csv", "auth.email"], ["user", "show", "--csv=auth.email"]),
            (["user", "show", "--tsv", "id,auth.email", "x"], ["user", "show", "--tsv=id,auth.email", "x"]),
            (["user", "show", "--tsv", "example.com"], ["user", "show", "--tsv=all", "example.com"]),
            (["--json", "id,state", "user", "list"], ["user", "list", "--json=id,state"]),
            (["--json", "id", "user", "list"], ["user", "list", "--json=id"]),
            (["--json", "user", "list"], ["user", "list", "--json=all"]),
            (["--csv", "--no-color", "user", "list"], ["user", "list", "--csv=all", "--no-color"]),
            (["user", "--json", "list", "--limit", "1"], ["user", "list", "--json=all", "--limit", "1"]),
            (["user", "--json", "id", "list"], ["user", "list", "--json=id"]),
            (["users", "--environment", "user", "find", "x"], ["users", "find", "--environment", "user", "x"]),
            (["relay", "--csv", "stream", "--tsv", "list"], ["relay", "stream", "list", "--csv=all", "--tsv=all"]),
            (["user", "--no-color", "--json=id", "list"], ["user", "list", "--no-color", "--json=id"]),
            // The reason is release; the command is not.
            (["user", "--reason", "release", "show", "x"], ["user", "--reason", "release", "show", "x"]),
            (["user", "--help"], ["user", "--help"]), (["--version"], ["--version"]),
            (["jobs", "show", "-1", "--json"], ["jobs", "show", "--json=all", "--", "-1"]),
            (["jobs", "retry", "-1", "--", "2"], ["jobs", "retry", "--", "-1", "2"]),
            (["jobs", "snooze", "1", "--in", "-5m"], ["jobs", "snooze", "1", "--in=-5m"]),
            (["jobs", "list", "-n", "--limit", "-1"], ["jobs", "list", "-n", "--limit=-1"]),
        ]
    )
    func dots(_ words: [String], _ expected: [String]) {
        #expect(CommandWords.normalised(words, root: Accountctl.self) == expected)
    }

    @Test("Commands without fields refuse --json and CSV", arguments: [["keys", "new", "k1"], ["manual"]])
    func noFields(_ words: [String]) async throws {
        for form in [["--json"], ["--format", "csv"]] {
            let refused = try await AccountctlProcess(words + form).result()
            #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("has no fields"), "\(refused)")
        }
    }

    @Test("Every command has help with an example, and its examples name commands that exist")
    func help() throws {
        var waiting: [[String]] = [[]]
        var seen = 0
        while let path = waiting.popLast() {
            let screen = try #require(try HelpScreens.screen(of: path), "\(path)")
            #expect(screen.contains("EXAMPLES") || screen.contains("SUBCOMMANDS:"), "\(path) has no example")
            seen += 1
            for line in screen.split(separator: "\n") where line.hasPrefix("  accountctl ") {
                let words = line.split(separator: " ").dropFirst().prefix { $0.allSatisfy { $0.isLetter || $0 == "-" } }
                let command = words.prefix { !$0.hasPrefix("-") }.map(String.init)
                let named = CommandPath(root: Accountctl.self, words: Array(command.prefix(2)))
                #expect(named.strayWord == nil, "\(line)")
            }
            guard let list = screen.range(of: "SUBCOMMANDS:") else { continue }
            for line in screen[list.upperBound...].split(separator: "\n") {
                guard line.hasPrefix("  "), !line.hasPrefix("   "), let name = line.split(separator: " ").first,
                    !line.hasPrefix("  See "), name != "help"
                else { continue }
                let word = String(name.hasSuffix(",") ? name.dropLast() : name)
                if word.allSatisfy({ $0.isLetter || $0 == "-" }) { waiting.append(path + [word]) }
            }
        }
        #expect(seen > 10)
    }

    @Test("Help for a command that does not exist fails with a suggestion")
    func helpOfNothing() async throws {
        for (words, meant) in [
            (["help", "usr"], "accountctl user"), (["help", "user", "fnd"], "accountctl user find"),
        ] {
            let result = try await AccountctlProcess(words).result()
            #expect(result.status == 2 && result.output.isEmpty, "\(words)")
            #expect(result.errors.contains("Did you mean: \(meant)\n"), "\(result.errors)")
        }
        #expect(try await AccountctlProcess.run("help").output.contains("USAGE: accountctl <subcommand>"))
    }
}
