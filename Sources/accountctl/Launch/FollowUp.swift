import ArgumentParser
import Postgres
import Terminal

/// Adds the options that chose this command's target to the commands that a message suggests: pasted without them, they
/// would act on another environment.
struct FollowUp: Sendable {
    /// The options, each after a space; empty if the settings alone decide.
    private let options: String
    private let isProduction: @Sendable () -> Bool

    /// `isProduction` is called only when a message names a command, since the settings have been read by then.
    init(_ global: GlobalOptions, isProduction: @escaping @Sendable () -> Bool) {
        self.isProduction = isProduction
        var words: [String] = []
        if let environment = global.environment { words += ["--environment", Self.quoted(environment)] }
        if let config = global.config { words += ["--config", Self.quoted(config)] }
        if let url = global.databaseURL {
            let holdsSecret = ConnectionConfiguration(conninfo: url).holdsSecret
            words += ["--database-url", holdsSecret ? "CONNINFO" : Self.quoted(url)]
        }
        options = words.reduce("") { $0 + " " + $1 }
    }

    /// The text with the options inserted after the program's name wherever a command follows it.
    ///
    /// Text marked by ``asWritten(_:)`` is left unchanged, without its marks.
    func completed(_ text: String) -> String {
        let parts = text.split(separator: Self.program, omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(String(parts[0])) { done, part in
            let command = part.prefix { $0.isLetter || $0 == "-" }
            guard Self.commands.contains(String(command)) else { return done + Self.program + part }
            return done + "accountctl" + options + " " + (isProduction() ? Self.consenting(part) : String(part))
        }
        .replacing(Self.marked, with: Self.program)
    }

    /// A user's text on one line, marked so that ``completed(_:)`` leaves any command in it as written.
    static func asWritten(_ words: String) -> String {
        SafeText.line(words).replacing(program, with: marked)
    }

    private static let program = "accountctl "
    /// The program's name with a character that ``SafeText`` lets nobody else write.
    private static let marked = "accountctl\u{F8FF} "
    private static let commands = Set(
        (CommandList.running + CommandList.accounts + CommandList.help).map { $0._commandName }
    )

    /// A command and the text after it, with `--production` added after the command's name if the command takes it.
    private static func consenting(_ text: Substring) -> String {
        let words = text.split(separator: " ").map { String($0.prefix { $0.isLetter || $0 == "-" }) }
        let path = CommandPath(root: Accountctl.self, words: words)
        let options = (try? CommandDescription.options(of: path.last)) ?? []
        let name = path.commands.dropFirst().map { $0._commandName }.joined(separator: " ")
        let rest = text.dropFirst(name.count)
        guard options.contains("--production"), text.hasPrefix(name), !rest.hasPrefix(" --help") else {
            return String(text)
        }
        return name + " --production" + rest
    }

    /// The word quoted for a shell, which works on bytes: an apostrophe with a combining accent still ends a quoted
    /// string.
    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (byte | 0x20) &- 97 < 26 || byte &- 48 < 10 || "_./:@%+,=-".utf8.contains(byte)
            }
        if isPlain { return word }
        let parts = word.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.map { String($0) }.joined(separator: "'\\''") + "'"
    }
}
