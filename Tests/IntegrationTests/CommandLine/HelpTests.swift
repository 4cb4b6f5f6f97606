import AccountLifecycle
import ArgumentParser
import Foundation
import JobQueue
import Terminal
import TestSupport
import Testing

@testable import accountctl

@Suite("Help screens and manual pages")
struct HelpTests {
    /// Runs a helper program and returns its exit status and output.
    private func run(_ program: String, _ arguments: [String], input: String) async throws -> (Int32, String) {
        let words = [program] + arguments
        let result = try await AccountctlProcess(words, input: input, program: "/usr/bin/env").result()
        return (result.status, result.output + result.errors)
    }

    @Test("A discussion is split into its parts without losing a word")
    func parts() {
        let help = HelpText(
            abstract: "Do it.",
            discussion: """
                One sentence
                over two lines.

                Another one.

                EXIT CODES
                  0 done;
                  1 not

                TO DO IT
                  1. Look.
                  2. Do it:    accountctl do
                  whatever it is

                EXAMPLES
                  accountctl do --it \\
                    --now
                  accountctl undo
                """
        )
        #expect(help.paragraphs == ["One sentence over two lines.", "Another one."])
        #expect(help.examples == ["accountctl do --it \\", "  --now", "accountctl undo"])
        #expect(
            help.sections == [
                HelpText.Section(title: "EXIT CODES", lines: ["0 done; 1 not"]),
                HelpText.Section(
                    title: "TO DO IT",
                    lines: ["1. Look.", "2. Do it:    accountctl do", "whatever it is"]
                ),
            ]
        )
        for description in (try? CommandDescription.root().all) ?? [] {
            let help = HelpText(abstract: "", discussion: description.discussion ?? "")
            let words = { (text: String) in text.split(whereSeparator: { $0.isWhitespace }).map(String.init) }
            let kept =
                help.paragraphs + help.sections.flatMap { [$0.title] + $0.lines } + help.examples
                + (help.examples.isEmpty ? [] : ["EXAMPLES"])
            #expect(
                kept.flatMap(words).sorted() == words(description.discussion ?? "").sorted(),
                "\(description.path)"
            )
        }
    }

    @Test("No command's help has two sections with the same title")
    func titles() throws {
        for command in try CommandDescription.root().all {
            let discussion = command.discussion ?? ""
            // `HelpText` merges all sections of examples, so their titles are counted in the source text.
            let examples = discussion.split(separator: "\n").map(String.init).filter { $0 == "EXAMPLES" }
            let titles = HelpText(abstract: "", discussion: discussion).sections.map(\.title) + examples
            #expect(Set(titles).count == titles.count, "\(command.path): \(titles)")
        }
    }

    @Test("Every command's help begins with its abstract and examples, and no example is wrapped")
    func examplesFirst() throws {
        var endings: [[Substring]: [String]] = [:]
        for command in try CommandDescription.root().all {
            let path = Array(command.path.dropFirst())
            let screen = try #require(try HelpScreens.screen(of: path), "\(path)")
            let blocks = screen.components(separatedBy: "\n\n")
            let isFirst = blocks.count > 2 && blocks[1].hasPrefix("EXAMPLES\n  ") && blocks[1].contains("accountctl ")
            #expect(isFirst, "\(path): \(screen)")
            #expect(screen.contains("\n\nUSAGE: accountctl"), "\(path)")
            #expect(!screen.contains(" [--log-level "), "\(path)")
            let help = HelpText(abstract: "", discussion: command.discussion ?? "")
            for line in help.examples { #expect(screen.contains("\n  \(line)"), "\(line)") }
            let options = screen.split(separator: "\n").filter { $0.hasPrefix("  -") }
            let ending = Array(options.drop { !$0.hasPrefix("  --database-url ") })
            if !ending.isEmpty { endings[ending, default: []] += [path.joined(separator: " ")] }
        }
        #expect(endings.count == 1, "its own options stand before those of every command: \(endings)")
    }

    @Test("The program prints the same screen of a command however it is asked for it")
    func printed() async throws {
        // Compared by words, since this process may be at a terminal, whose width its screen has.
        func split(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }
        let screen = try #require(try HelpScreens.screen(of: ["relay", "check"]))
        for words in [["relay", "check", "--help"], ["relay", "check", "-h"], ["help", "relay", "check"]] {
            let told = try await AccountctlProcess(words).result()
            #expect(told.status == 0 && told.errors.isEmpty, "\(words): \(told)")
            #expect(split(told.output) == split(screen), "\(words): \(told.output)")
        }
    }

    @Test("jobs enqueue accepts the example line of its help, whose kind needs no arguments")
    func jobLine() throws {
        let path = ["accountctl", "jobs", "enqueue"]
        let command = try #require(try CommandDescription.root().all.first { $0.path == path })
        let line = try #require((command.discussion ?? "").firstMatch(of: /\{"kind": .+\}/)?.0)
        let job = try JobLine(String(line)).order().job
        #expect(try AccountLifecycle.periodic().contains { $0.job.kind == job.kind }, "\(line)")
    }

    @Test("The help of deletion plan explains exactly the codes of blockers")
    func codes() throws {
        let path = ["accountctl", "deletion", "plan"]
        let command = try #require(try CommandDescription.root().all.first { $0.path == path })
        let sections = HelpText(abstract: "", discussion: command.discussion ?? "").sections
        let lines = try #require(sections.first { $0.title == "BLOCKERS" }).lines
        let told = lines.compactMap { $0.split(separator: " ").first }.map(String.init)
        // These situations stop only a run, and are in no plan.
        let others: Set<Situation.Code> = [
            .paused, .ceiling, .storageUnusable, .sealingKeyMissing, .appleMisconfigured, .appleUnreachable,
            .codeUnderWay, .otherAccount, .residue, .failing,
        ]
        let codes = Set(Situation.Code.allCases).subtracting(others).map(\.rawValue)
        #expect(told.sorted() == codes.sorted())
    }

    @Test("Every command has a manual page that groff formats without a warning")
    func manual() async throws {
        let folder = try TemporaryFolder("man").url
        defer { try? FileManager.default.removeItem(at: folder) }
        let written = try await AccountctlProcess.run("manual", "--into", folder.path)
        #expect(written.status == 0, "\(written.errors)")
        let commands = try CommandDescription.root().all
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files == commands.map { $0.path.joined(separator: "-") + ".1" }.sorted())
        let pages = try files.map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }
        // All pages are formatted in one run, because groff starts slowly.
        let (status, complaints) = try await run("groff", ["-man", "-Tutf8", "-ww", "-z"], input: pages.joined())
        #expect(status == 0 && complaints.isEmpty, "\(complaints)")
    }

    /// Runs `manual` in this process, which has the description of all commands: a start takes seconds to make it.
    private func printedPage(_ words: String...) async throws -> String {
        let command = try ManualCommand.parse(words)
        let written = WrittenText()
        let messages = Messages(style: .plain, sink: written)
        let context = CommandContext(
            global: command.global,
            environment: [:],
            output: Output(format: .table, style: .plain, sink: written, messages: messages),
            isInteractive: false,
            now: { .now }
        )
        let status = try await command.run(in: context)
        #expect(status == .ok)
        return written.text
    }

    @Test("A manual page has the text of the help, with the special characters of groff escaped")
    func page() async throws {
        let printed = try await AccountctlProcess.run("manual", "relay", "check")
        #expect(printed.status == 0)
        let (_, text) = try await run("groff", ["-man", "-Tascii", "-P-cbou", "-rLL=100n"], input: printed.output)
        for line in [
            "accountctl-relay-check - Check whether mail of a stream or domain reaches the relay.",
            "--registered domain", "OPTIONS OF EVERY COMMAND", "--database-url conninfo", "EXIT STATUS",
            "accountctl relay check example.com --include _spf.esp.example --selector s1 --registered example.com",
            "accountctl-relay(1)",
        ] { #expect(text.contains(line), "\(line) in \(text)") }
        let (_, all) = try await run("groff", ["-man", "-Tascii", "-P-cbou"], input: try await printedPage())
        for line in ["deletion.grace", "ACCOUNTCTL_CONFIG", "temporary failure, try again", "accountctl-user(1)"] {
            #expect(all.contains(line), "\(line)")
        }
        let other = try await printedPage("users", "find")
        #expect(other.contains("accountctl\\-user\\-find"), "\(other)")
        let unknown = await #expect(throws: CommandError.self) { try await printedPage("nothing") }
        #expect(unknown?.status == .notFound)
        let mistyped = await #expect(throws: CommandError.self) { try await printedPage("user", "fnd") }
        #expect(mistyped?.status == .notFound)
        #expect(mistyped?.hint?.contains("Did you mean: accountctl user find\n") == true)
        let nowhere = await #expect(throws: CommandError.self) { try await printedPage("--into", "/nowhere") }
        #expect(nowhere?.status == .failure && nowhere?.message.contains("/nowhere") == true)
        var roff = Roff()
        roff.paragraph(".so /etc/passwd \\n 'x'")
        #expect(roff.text == ".PP\n\\&.so /etc/passwd \\en \\(aqx\\(aq\n")
    }
}
