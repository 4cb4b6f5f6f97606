import ArgumentParser

/// The names that the parser's completion scripts do not know: options before the command, and aliases.
///
/// The parser's scripts still complete the words; a wrapper of ours first rewrites these into the form that they know.
struct CompletionNames {
    /// The name of the program.
    let program: String
    /// The possible first words: commands and their aliases.
    let commands: [String]
    /// Options of every command that always have a value.
    let valued = CommandWords.globalOptionsWithValue.sorted()
    /// Options of every command that may be followed by a list of fields.
    let fields = GlobalOptions.fieldOptions.sorted()
    /// A command that has only the options of every command.
    let plain = "config show"
    /// Each alias after the commands that precede it, and the name that it stands for.
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
