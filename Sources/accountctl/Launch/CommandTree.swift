import ArgumentParser
import Terminal

/// The way a command line takes through the command tree.
struct CommandPath {
    /// The commands from the root to where the words stop naming commands.
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

    /// The command the words lead to.
    var last: any ParsableCommand.Type { commands[commands.count - 1] }

    /// The names as one would type them.
    var text: String { commands.map { $0._commandName }.joined(separator: " ") }

    /// What to say of the stray word, with the name that it may have meant; nil where there is none.
    var mistake: CommandError? {
        guard let strayWord else { return nil }
        let near = meaning(of: strayWord).map { "Did you mean: \(text) \($0)\n" } ?? ""
        return CommandError(
            .usage,
            "there is no command \"\(text) \(SafeText.line(strayWord))\"",
            hint: near + "See: \(text) --help"
        )
    }

    /// What the word may have meant: a name like it, one that begins as it does, or the only group with such a command.
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

    /// The commands below it that help shows.
    static var shownSubcommands: [any ParsableCommand.Type] {
        configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }
}
