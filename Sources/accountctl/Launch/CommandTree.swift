import AccountLifecycle
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

    /// The error that reports the stray word, with what it may have meant; nil if there is no stray word.
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
        let typed = (commands.dropFirst().map { $0._commandName } + [word]).joined(separator: " ")
        let root = CommandPath(root: commands[0], words: [])
        let inside = nearest { command in
            command.names.contains(word) || command.wordsTried.contains(word) || command.wordsTried.contains(typed)
        }
        // Before a similar name, which may do something else entirely: deletion rehearse for deletion release.
        let meant =
            inside ?? root.nearest { $0.wordsTried.contains(typed) } ?? similar(word)
            ?? root.nearest { $0.names.contains(word) }
        if let meant { return meant }
        // An account where a command is expected.
        let term = LookupTerm(word)
        return term?.email == nil && term?.userID == nil
            ? [] : ["\(commands[0]._commandName) user find \(SafeText.line(word))"]
    }

    /// The commands below this one for which a condition holds, on the nearest level that has any.
    private func nearest(_ isMeant: (any ParsableCommand.Type) -> Bool) -> [String]? {
        var level = [(path: text, command: last)]
        while !level.isEmpty {
            level = level.flatMap { path, group in
                group.shownSubcommands.map { (path: "\(path) \($0._commandName)", command: $0) }
            }
            let meant = level.filter { isMeant($0.command) }
            if !meant.isEmpty { return meant.map { $0.path } }
        }
        return nil
    }

    /// The command of this group with a similar name.
    private func similar(_ name: String) -> [String]? {
        // The parser's own command, which is no subcommand: it has neither help nor a page of the manual.
        let own = commands.count == 1 && name != "help" ? ["help"] : []
        return NearestName.of(name, among: last.shownSubcommands.flatMap { $0.names } + own).map { ["\(text) \($0)"] }
    }
}

extension ParsableCommand {
    /// The name of the command and its aliases.
    static var names: [String] { [_commandName] + configuration.aliases }

    /// What people try instead of the command's name; a group has nothing.
    fileprivate static var wordsTried: [String] { (self as? any AccountctlCommand.Type)?.otherWords ?? [] }

    /// The subcommands that the help shows.
    static var shownSubcommands: [any ParsableCommand.Type] {
        configuration.subcommands.filter { $0.configuration.shouldDisplay }
    }
}
