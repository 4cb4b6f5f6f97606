import ArgumentParser

/// A command that does something: it builds what it needs, calls the library, and renders what comes back.
protocol AccountctlCommand: ParsableCommand {
    /// The options every command takes.
    var global: GlobalOptions { get }

    /// What people try instead of this command's name, in its group or right after the program's name, or after another
    /// group's name, as in `user delete`. Such a command line is refused, and this command suggested.
    static var otherWords: [String] { get }

    /// The names of the selectable fields, in column order: for the help, and to tell a selection from an operand.
    static var outputFields: [String] { get }

    /// The columns of CSV and TSV that are one fact of a section, such as `auth.email`; in JSON the whole section is
    /// one field.
    static var sectionFields: [String] { get }

    /// The names of ``outputFields`` that the requested output has.
    var selectableFields: [String] { get }

    /// Whether the command only queries over one connection and does nothing else meanwhile.
    ///
    /// One thread is then enough, which starts and ends sooner than five.
    static var isSequential: Bool { get }

    /// Carries out the command.
    ///
    /// Results that are not a failure of the command (nothing found, drift, residue) are returned; errors that stopped
    /// it are thrown.
    func run(in context: CommandContext) async throws -> ExitStatus
}

extension AccountctlCommand {
    static var otherWords: [String] { [] }
    static var outputFields: [String] { [] }
    static var sectionFields: [String] { [] }
    var selectableFields: [String] { Self.outputFields }
    static var isSequential: Bool { false }

    /// The command parsed from the words after its name; nil when they are invalid or ask for something else, such as
    /// help.
    static func parsed(_ words: [String]) -> Self? {
        (try? Leaf<Self>.parseAsRoot(words) as? Leaf<Self>)?.command
    }
}

/// A command parsed as a root of its own, without the parser's check for a request of a completion script, which would
/// parse two more commands.
private struct Leaf<Command: AccountctlCommand>: ParsableCommand {
    static var configuration: CommandConfiguration { CommandConfiguration(_superCommandName: "accountctl") }

    @OptionGroup
    var command: Command
}
