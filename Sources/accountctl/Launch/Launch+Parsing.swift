import ArgumentParser
import Terminal

/// Turns the words into a command, help, or an error.
extension Launch {
    /// The command that the words ask for; nil when the parser has run one of its own.
    ///
    /// - Throws: The parser's error, or a `ValidationError` for an option that is given twice.
    static func command(_ words: [String]) throws -> (any AccountctlCommand)? {
        guard let command = try parsed(words) else { return nil }
        if let name = try RepeatedOption.name(in: words, among: CommandDescription.arguments(of: type(of: command))) {
            throw ValidationError("\(name) is given more than once, but takes only one value")
        }
        return command
    }

    /// The command that the words ask for, with repeated options accepted; nil when the parser has run a command of its
    /// own.
    ///
    /// The named command alone parses the words after its name. If that fails (for help, the version and every
    /// mistake), the whole tree parses the line, which takes longer.
    private static func parsed(_ words: [String]) throws -> (any AccountctlCommand)? {
        let path = CommandPath(root: Accountctl.self, words: words)
        let rest = Array(words[path.wordCount...])
        if path.last == UserFindCommand.self, let command = UserFindCommand.plain(rest) { return command }
        if let command = (path.last as? any AccountctlCommand.Type)?.parsed(rest) { return command }
        var parsed = try Accountctl.parseAsRoot(words)
        if let command = parsed as? any AccountctlCommand { return command }
        // A group named without a command, or the parser's own help command.
        try parsed.run()
        return nil
    }

    /// The answer to `--version` alone, or to a help option right after a command's name; nil for any other words.
    ///
    /// The parser would first try two commands for completion scripts.
    var plainAnswer: String? {
        if words == ["--version"] { return Version.text + "\n" }
        let path = CommandPath(root: Accountctl.self, words: words)
        guard path.strayWord == nil, [["--help"], ["-h"]].contains(Array(words[path.wordCount...])) else { return nil }
        return help(Accountctl.helpMessage(for: path.last, columns: helpColumns), of: path)
    }

    /// Prints help and version as output; reports everything else the parser throws as a mistake on the command line.
    func reportParsing(_ error: any Error, _ messages: Messages) -> ExitStatus {
        let asked = CommandPath(root: Accountctl.self, words: words.first == "help" ? Array(words.dropFirst()) : words)
        // Not by the parser's exit code: to know it, the parser writes help at the terminal's own width, and a debug
        // build ends below 27 columns.
        let text = Accountctl.fullMessage(for: error, columns: helpColumns)
        if !text.hasPrefix(Accountctl._errorPrefix), asked.strayWord == nil || words.first != "help" {
            return answer(help(text, of: asked) ?? text + "\n")
        }
        if let mistake = asked.mistake {
            messages.failure(mistake.message, hint: mistake.hint)
        } else {
            let message = Accountctl.message(for: error)
            let said =
                Self.unknownConsent(insteadOf: message, of: asked) ?? unknownOption(insteadOf: message, of: asked)
                ?? Self.withForm(message)
            messages.failure(SafeText.lines(said), hint: "See: \(asked.text) --help")
        }
        return .usage
    }

    /// The message about an option that says yes to a question that takes more than that: the parser suggests any
    /// similar name.
    private static func unknownConsent(insteadOf message: String, of path: CommandPath) -> String? {
        guard let option = ["--yes", "-y", "--force"].first(where: { message.hasPrefix("Unknown option '\($0)'") }),
            let options = try? CommandDescription.options(of: path.last), options.contains("--confirm")
        else { return nil }
        return "Unknown option '\(option)': what cannot be undone is confirmed with --confirm and what the question "
            + "asks for"
    }

    /// The message about an option that the command does not have: the parser takes the word after it for an operand,
    /// and may first complain of that word's form.
    private func unknownOption(insteadOf message: String, of path: CommandPath) -> String? {
        guard message.contains("' is invalid for '<"),
            let arguments = try? CommandDescription.arguments(of: path.last)
        else { return nil }
        let known = Set(arguments.flatMap { ($0.names ?? []).map(\.text) })
        let typed = words[path.wordCount...].prefix { $0 != "--" }.map { String($0.prefix { $0 != "=" }) }
        return typed.first { $0.hasPrefix("--") && !known.contains($0) }.map { "Unknown option '\($0)'" }
    }

    /// The parser's message about a value; for numbers, what is wrong is added, which the parser leaves out.
    private static func withForm(_ message: String) -> String {
        let isOfNumber = ["count", "number", "id", "ids"].contains { message.hasSuffix("<\($0)>'") }
        guard isOfNumber, let words = message.firstRange(of: "' is invalid for '") else { return message }
        let value = message[..<words.lowerBound].drop { $0 != "'" }.dropFirst()
        let digits = value.first == "-" || value.first == "+" ? value.dropFirst() : value
        // A whole number that the parser does not take has too many of them.
        let isWhole = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return message + (isWhole ? ": it is out of bounds" : ": it takes a whole number")
    }

    /// The parser's help screen with its parts in our order; nil if the message is something else, such as the version.
    private func help(_ message: String, of path: CommandPath) -> String? {
        guard message.hasPrefix("OVERVIEW: ") else { return nil }
        return HelpScreen(command: path.last, parsed: message, columns: helpColumns).text + "\n"
    }

    /// The columns of a help screen: on a narrower terminal, the parser would leave out what the options mean.
    private var helpColumns: Int { max(style(.output, noColour: true).width ?? 80, 40) }
}
