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
        let near = meaning(of: strayWord).map { "Did you mean: \(text) \($0)\n" } ?? ""
        return CommandError(
            .usage,
            "there is no command \"\(text) \(SafeText.line(strayWord))\"",
            hint: near + "See: \(text) --help"
        )
    }

    /// The name that the word may have meant: a similar one, one that starts with all of the word but its last letter,
    /// or the only group that has a command of this name.
    private func meaning(of word: String) -> String? {
        let groups = last.shownSubcommands
        let names = groups.flatMap { $0.names }
        if let near = NearestName.of(word, among: names) { return near }
        if word.count > 4, let longer = names.first(where: { $0.hasPrefix(word.dropLast()) }) { return longer }
        let inside = groups.filter { group in group.shownSubcommands.contains { $0.names.contains(word) } }
        return inside.count == 1 ? inside.first.map { "\($0._commandName) \(word)" } : nil
    }
}

extension ParsableCommand {
    /// The name of the command and its aliases.
    static var names: [String] { [_commandName] + configuration.aliases }

    /// The subcommands that the help shows.
    static var shownSubcommands: [any ParsableCommand.Type] {
        configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }
}
