import ArgumentParser

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A command with its arguments and subcommands, as the argument parser describes it (`--experimental-dump-help`).
struct CommandDescription: Decodable, Sendable {
    let commandName: String
    let superCommands: [String]?
    let abstract: String?
    let discussion: String?
    let shouldDisplay: Bool?
    let arguments: [Argument]?
    private let subcommands: [CommandDescription]?

    /// One argument, option or flag.
    struct Argument: Decodable {
        enum Kind: String, Decodable {
            case positional, option, flag
        }

        struct Name: Decodable, Equatable {
            let kind: String
            let name: String

            /// The name as it is typed.
            var text: String { (kind == "long" ? "--" : "-") + name }
        }

        let kind: Kind
        let shouldDisplay: Bool
        let isOptional: Bool
        let isRepeating: Bool
        let names: [Name]?
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let abstract: String?
    }

    private struct Tool: Decodable {
        let command: CommandDescription
    }

    /// The words that are typed to name the command.
    var path: [String] { (superCommands ?? []) + [commandName] }

    /// The subcommands that the help shows.
    var children: [CommandDescription] {
        (subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay != false }
    }

    /// This command and every command below it.
    var all: [CommandDescription] { [self] + children.flatMap(\.all) }

    /// The description of the whole program.
    static func root() throws -> CommandDescription { try program.get() }

    /// Read once, since it takes the parser seconds in a debug build, and a dozen tests ask for it.
    private static let program: Result<CommandDescription, any Error> = Result {
        try JSONDecoder().decode(Tool.self, from: Data(Accountctl._dumpHelp().utf8)).command
    }

    /// The preferred names of the options that every command takes.
    static func globalOptions() throws -> Set<String> {
        try options(of: GlobalOptions.self).union(["--help", "--version"])
    }

    /// The preferred names of the options of a command, or of a group of options.
    static func options(of type: any ParsableArguments.Type) throws -> Set<String> {
        Set(try arguments(of: type).compactMap { $0.preferredName?.text })
    }

    /// The arguments of a command, or of a group of options, including those that the help does not show.
    static func arguments(of type: any ParsableArguments.Type) throws -> [Argument] {
        try JSONDecoder().decode(Tool.self, from: Data(type._dumpHelp().utf8)).command.arguments ?? []
    }

    /// The command that the words after this one name; nil if they name none.
    func find(_ words: some Collection<String>) -> CommandDescription? {
        guard let word = words.first else { return self }
        return children.first { $0.commandName == word }?.find(words.dropFirst())
    }
}
