import ArgumentParser

/// A command that does something: it builds what it needs, calls the library, and renders what comes back.
protocol AccountctlCommand: ParsableCommand {
    /// The options every command takes.
    var global: GlobalOptions { get }

    /// The names that can be selected, in the order of the columns: for the help and for telling a selection from an
    /// operand.
    static var outputFields: [String] { get }

    /// The columns between separators that are a fact of a section, such as `auth.email`; in JSON the section is one
    /// field.
    static var sectionFields: [String] { get }

    /// The names of ``outputFields`` that what is asked for has.
    var selectableFields: [String] { get }

    /// Whether it asks over one connection and does nothing else meanwhile.
    ///
    /// One thread is enough for it then, and starts and ends sooner than five.
    static var isSequential: Bool { get }

    /// Does the work.
    ///
    /// Results that are no failure of the command (nothing found, drift, residue) are returned; what stopped it is
    /// thrown.
    func run(in context: CommandContext) async throws -> ExitStatus
}

extension AccountctlCommand {
    static var outputFields: [String] { [] }
    static var sectionFields: [String] { [] }
    var selectableFields: [String] { Self.outputFields }
    static var isSequential: Bool { false }

    /// The command that the words after its name ask for; nil when they ask for something else, or are wrong.
    static func parsed(_ words: [String]) -> Self? {
        (try? Leaf<Self>.parseAsRoot(words) as? Leaf<Self>)?.command
    }
}

/// A command by itself, which is not asked for a completion script first: that would be two more commands to parse.
private struct Leaf<Command: AccountctlCommand>: ParsableCommand {
    static var configuration: CommandConfiguration { CommandConfiguration(_superCommandName: "accountctl") }

    @OptionGroup
    var command: Command
}
