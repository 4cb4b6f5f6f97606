import ArgumentParser

/// What the parser's own completion scripts do not know: options before the command, and aliases.
///
/// What they know is asked of them all the same: a script of ours brings the words into the form that they know.
struct CompletionNames {
    /// The name of the program.
    let program: String
    /// What may be the first word: commands and their aliases.
    let commands: [String]
    /// Options of every command that always have a value.
    let valued = CommandWords.globalOptionsWithValue.sorted()
    /// Options of every command that may have a list of fields behind them.
    let fields = GlobalOptions.fieldOptions.sorted()
    /// A command that has the options of every command, and none of its own.
    let plain = "config show"
    /// Each alias with the commands before it, and what it stands for.
    let aliases: [(typed: String, name: String)]

    init(of root: any ParsableCommand.Type) {
        program = root._commandName
        commands = root.configuration.subcommands.flatMap { $0.names }
        aliases = Self.aliases(of: root, before: "")
    }

    private static func aliases(of command: any ParsableCommand.Type, before: String) -> [(typed: String, name: String)]
    {
        var found: [(typed: String, name: String)] = []
        for child in command.configuration.subcommands {
            let name = child._commandName
            for alias in child.configuration.aliases { found.append((before + alias, name)) }
            found += aliases(of: child, before: before + name + " ")
        }
        return found
    }
}
