import ArgumentParser
import EventThread
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One run of the program: parse, run, report.
struct Launch {
    let arguments: [String]
    let environment: [String: String]
    private let words: [String]

    init(arguments: [String], environment: [String: String] = ProcessVariables.all()) {
        self.arguments = arguments
        self.environment = environment
        words = CommandWords.normalised(arguments, root: Accountctl.self)
    }

    /// Answers what needs no command: the version alone, or help and nothing else behind a command's name; nil for all
    /// else.
    func answerPlainly() -> ExitStatus? {
        plainAnswer.map { answer($0) }
    }

    /// Runs the command; everything that ``answerPlainly()`` answers as well.
    ///
    /// - Parameter thread: What the caller runs on, and what a command stays on that needs no other.
    /// - Returns: What the process ends with.
    func run(on thread: EventThread) async -> ExitStatus {
        if let unknown = CommandWords.unknownField(words, root: Accountctl.self) { return report(unknown) }
        let command: any AccountctlCommand
        do {
            guard let parsed = try Self.command(words) else { return .ok }
            command = parsed
        } catch {
            return reportParsing(error, words: words, messages: messages)
        }
        var messages = messages
        let cache = SettingsCache()
        messages.rewrite = FollowUp(command.global) { cache.isProduction }.completed
        do {
            let style = style(.output, noColour: refusesColour)
            let output = Output(
                format: command.global.outputFormat,
                style: style,
                sink: DescriptorSink(descriptor: 1),
                messages: messages,
                pager: command.global.noPager ? nil : pager(style)
            )
            try output.format.checkSelection(
                of: command.selectableFields,
                and: type(of: command).sectionFields
            )
            if command.selectableFields.isEmpty, output.format.isForPrograms {
                throw CommandError(
                    .usage,
                    "this command has no fields: --json, --csv, --tsv and --format say nothing about what it prints"
                )
            }
            let context = CommandContext(
                global: command.global,
                environment: environment,
                output: output,
                isInteractive: isInteractive(command.global),
                now: { Date() },
                thread: type(of: command).isSequential ? thread : nil,
                cache: cache
            )
            // Most commands connect.
            if let failure = Connection.loadLibrary() {
                throw CommandError(.failure, "libpq cannot be loaded: \(failure)", hint: "install libpq 5")
            }
            do {
                guard context.thread == nil else { return try await command.run(in: context) }
                return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await command.run(in: context)
                }
            } catch {
                throw await SchemaGap(context: context).explanation(of: error) ?? error
            }
        } catch {
            if Accountctl.exitCode(for: error) == .success {
                return reportParsing(error, words: words, messages: messages)
            }
            return report(error, messages)
        }
    }

    /// Tells of an error, and what the process ends with for it.
    func report(_ error: any Error) -> ExitStatus { report(error, messages) }

    private func report(_ error: any Error, _ messages: Messages) -> ExitStatus {
        let report = ErrorReport(error)
        if !report.message.isEmpty { messages.failure(report.message, hint: report.hint) }
        return report.status
    }

    private var refusesColour: Bool { arguments.contains("--no-color") }

    private var messages: Messages {
        Messages(style: style(.error, noColour: refusesColour), sink: DescriptorSink(descriptor: 2))
    }

    /// The command that the words ask for; nil when the parser has run one of its own.
    ///
    /// The command that they name parses what follows its name. The whole tree, which takes longer, is asked where that
    /// comes to anything else: help, the version, every mistake.
    private static func command(_ words: [String]) throws -> (any AccountctlCommand)? {
        let path = CommandPath(root: Accountctl.self, words: words)
        let rest = Array(words[path.wordCount...])
        // By name: to ask a type whether it takes plain words itself reads through all conformances of the program.
        if path.last == UserFindCommand.self, let command = UserFindCommand.plain(rest) { return command }
        if let command = (path.last as? any AccountctlCommand.Type)?.parsed(rest) { return command }
        var parsed = try Accountctl.parseAsRoot(words)
        if let command = parsed as? any AccountctlCommand { return command }
        // A group named without a command, or the parser's own help command.
        try parsed.run()
        return nil
    }

    /// What the version alone, or help and nothing else behind a command's name, answers; nil where more or other words
    /// stand there.
    ///
    /// Parsed, each would be looked for after two commands for completion scripts.
    private var plainAnswer: String? {
        if words == ["--version"] { return Version.text + "\n" }
        let path = CommandPath(root: Accountctl.self, words: words)
        guard path.strayWord == nil, [["--help"], ["-h"]].contains(Array(words[path.wordCount...])) else { return nil }
        return help(Accountctl.helpMessage(for: path.last), of: path)
    }

    /// Prints what was asked of the program itself.
    private func answer(_ text: String) -> ExitStatus {
        do {
            try DescriptorSink(descriptor: 1).write(text)
            return .ok
        } catch {
            return report(error)
        }
    }

    private func isInteractive(_ global: GlobalOptions) -> Bool {
        !global.noInput && StandardStreams.isTerminal(.input) && StandardStreams.isTerminal(.error)
    }

    private func pager(_ style: StreamStyle) -> Pager? {
        .decide(style: style, rows: StandardStreams.rows(.output), environment: environment) { program in
            Pager.isInstalled(program, path: environment["PATH"] ?? "")
        }
    }

    private func style(_ stream: StandardStreams.Stream, noColour: Bool) -> StreamStyle {
        .decide(
            isTerminal: StandardStreams.isTerminal(stream),
            columns: StandardStreams.columns(stream),
            environment: environment,
            noColour: noColour
        )
    }

    /// The parser's help screen in our order; nil when the message is something else, such as the version.
    private func help(_ message: String, of path: CommandPath) -> String? {
        guard message.hasPrefix("OVERVIEW: ") else { return nil }
        let columns = style(.output, noColour: true).width
        return HelpScreen(command: path.last, parsed: message, columns: columns).text + "\n"
    }

    /// Help and version are data; everything else the parser says is a mistake on the command line.
    private func reportParsing(_ error: any Error, words: [String], messages: Messages) -> ExitStatus {
        let asked = CommandPath(root: Accountctl.self, words: words.first == "help" ? Array(words.dropFirst()) : words)
        if Accountctl.exitCode(for: error) == .success, asked.strayWord == nil || words.first != "help" {
            let message = Accountctl.fullMessage(for: error)
            return answer(help(message, of: asked) ?? message + "\n")
        }
        if let mistake = asked.mistake {
            messages.failure(mistake.message, hint: mistake.hint)
        } else {
            messages.failure(SafeText.lines(Accountctl.message(for: error)), hint: "See: \(asked.text) --help")
        }
        return .usage
    }
}
