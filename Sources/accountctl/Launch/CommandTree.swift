import ArgumentParser
import Terminal

/// The path of a command line through the command tree.
struct CommandPath {
    /// The commands from the root to the last one that the words name.
    private(set) var commands: [any ParsableCommand.Type]
    /// How many of the words name these commands, counted from the start of the command line.
    private(set) var wordCount = 0
    /// The first word that should have named a command and does not.
    private(set) var strayWord: String?

    init(root: any ParsableCommand.Type, words: [String]) {
        commands = [root]
        for word in words {
            let children = last.configuration.subcommands
            if children.isEmpty || word.hasPrefix("-") { return }
            guard let child = children.first(where: { $0.names.contains(word) }) else {
                strayWord = word
                return
            }
            commands.append(child)
            wordCount += 1
        }
    }

    /// The command that the words lead to.
    var last: any ParsableCommand.Type { commands[commands.count - 1] }

    /// The names as a user types them.
    var text: String { commands.map { $0._commandName }.joined(separator: " ") }

    /// The error that reports the stray word, with a suggestion if a name is close; nil if there is no stray word.
    var mistake: CommandError? {
        guard let strayWord else { return nil }
        let meant = meanings(of: strayWord)
        let near = meant.isEmpty ? "" : "Did you mean: \(Wording.list(meant, "or"))\n"
        return CommandError(
            .usage,
            "there is no command \"\(text) \(SafeText.line(strayWord))\"",
            hint: near + "See: \(text) --help"
        )
    }

    /// The commands that the word may have meant, as they are typed: those of this group, or else of the whole program.
    private func meanings(of word: String) -> [String] {
        let inside = meaningsBelow(word)
        return inside.isEmpty && commands.count > 1
            ? CommandPath(root: commands[0], words: []).meaningsBelow(word) : inside
    }

    /// The commands below this one that the word may have meant: those of this name, or that people call so, on the
    /// nearest level; else a similar name; else one that starts with all of the word but its last letter.
    private func meaningsBelow(_ word: String) -> [String] {
        var level = [(path: text, command: last)]
        while !level.isEmpty {
            level = level.flatMap { path, group in
                group.shownSubcommands.map { (path: "\(path) \($0._commandName)", command: $0) }
            }
            let meant = level.filter { $0.command.isMeant(by: word) }
            if !meant.isEmpty { return meant.map { $0.path } }
        }
        let names = last.shownSubcommands.flatMap { $0.names }
        if let near = NearestName.of(word, among: names) { return ["\(text) \(near)"] }
        let longer = word.count > 4 ? names.first { $0.hasPrefix(word.dropLast()) } : nil
        return longer.map { ["\(text) \($0)"] } ?? []
    }
}

extension ParsableCommand {
    /// The name of the command and its aliases.
    static var names: [String] { [_commandName] + configuration.aliases }

    /// Whether the word is a name of the command, or one that people try for it.
    fileprivate static func isMeant(by word: String) -> Bool {
        names.contains(word) || (self as? any AccountctlCommand.Type)?.otherWords.contains(word) == true
    }

    /// The subcommands that the help shows.
    static var shownSubcommands: [any ParsableCommand.Type] {
        configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }
}
