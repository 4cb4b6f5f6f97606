import ArgumentParser
import Terminal

/// From the words to a command, to help, or to what is wrong with them.
extension Launch {
    /// The command that the words ask for; nil when the parser has run one of its own.
    ///
    /// - Throws: What the parser says, or a `ValidationError` of an option that is given twice.
    static func command(_ words: [String]) throws -> (any AccountctlCommand)? {
        guard let command = try parsed(words) else { return nil }
        if let name = try RepeatedOption.name(in: words, of: type(of: command)) {
            throw ValidationError("\(name) is given more than once, and takes one value: say which")
        }
        return command
    }

    /// The command that the words ask for, whatever option they give twice; nil when the parser has run one of its own.
    ///
    /// The command that the words name parses what follows its name. The whole tree, which takes longer, is asked where
    /// that comes to anything else: help, the version, every mistake.
    private static func parsed(_ words: [String]) throws -> (any AccountctlCommand)? {
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
    var plainAnswer: String? {
        if words == ["--version"] { return Version.text + "\n" }
        let path = CommandPath(root: Accountctl.self, words: words)
        guard path.strayWord == nil, [["--help"], ["-h"]].contains(Array(words[path.wordCount...])) else { return nil }
        return help(Accountctl.helpMessage(for: path.last), of: path)
    }

    /// Help and version are data; everything else the parser says is a mistake on the command line.
    func reportParsing(_ error: any Error, _ messages: Messages) -> ExitStatus {
        let asked = CommandPath(root: Accountctl.self, words: words.first == "help" ? Array(words.dropFirst()) : words)
        if Accountctl.exitCode(for: error) == .success, asked.strayWord == nil || words.first != "help" {
            let message = Accountctl.fullMessage(for: error)
            return answer(help(message, of: asked) ?? message + "\n")
        }
        if let mistake = asked.mistake {
            messages.failure(mistake.message, hint: mistake.hint)
        } else {
            let said = Self.withForm(Accountctl.message(for: error))
            messages.failure(SafeText.lines(said), hint: "See: \(asked.text) --help")
        }
        return .usage
    }

    /// What the parser says of a value, with what is expected where that is a number: of those it does not say so.
    private static func withForm(_ message: String) -> String {
        let isOfNumber = ["count", "number", "id", "ids"].contains { message.hasSuffix("<\($0)>'") }
        return isOfNumber && message.contains("' is invalid for '") ? message + ": it takes a whole number" : message
    }

    /// The parser's help screen in our order; nil when the message is something else, such as the version.
    private func help(_ message: String, of path: CommandPath) -> String? {
        guard message.hasPrefix("OVERVIEW: ") else { return nil }
        let columns = style(.output, noColour: true).width
        return HelpScreen(command: path.last, parsed: message, columns: columns).text + "\n"
    }
}
