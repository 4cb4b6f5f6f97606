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
///
/// The command's arguments are its own. As a group of options they would be one level deeper, and to validate a level, a
/// debug build of the parser reads the level below it three more times.
private struct Leaf<Command: AccountctlCommand>: ParsableCommand, CustomReflectable {
    static var configuration: CommandConfiguration { CommandConfiguration(_superCommandName: "accountctl") }

    private(set) var command: Command

    /// The parser finds a command's arguments by reflection.
    var customMirror: Mirror { Mirror(reflecting: command) }

    init() {
        command = Command()
    }

    init(from decoder: any Decoder) throws {
        command = try Command(from: decoder)
    }

    mutating func validate() throws {
        try command.validate()
    }
}
