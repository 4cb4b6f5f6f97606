import ArgumentParser
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Prints pages of the manual.
struct ManualCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Print the manual page of a command, or write all of them.",
        discussion: """
            The pages have the same text as --help, in the macros of man(7).

            EXAMPLES
              accountctl manual user find | man -l -
              accountctl manual --into /usr/local/share/man/man1
            """
    )

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write every page into this folder, with names such as accountctl-user-find.1.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var into: String?

    @Argument(help: "The command, as you type it; none for the program itself.")
    var command: [String] = []

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        guard into == nil || command.isEmpty else { throw ValidationError("--into writes all pages: name no command") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let root = try CommandDescription.root()
        let globalOptions = try CommandDescription.globalOptions()
        let settings = Settings.check(SettingsInputs(file: nil, variables: [:]) { _ in "" }).settings.declarations
        func page(_ command: CommandDescription) -> ManualPage {
            ManualPage(command: command, globalOptions: globalOptions, settings: settings)
        }
        guard let into else {
            let words = command.first == root.commandName ? Array(command.dropFirst()) : command
            let path = CommandPath(root: Accountctl.self, words: words)
            // Aliases have no page of their own, so they are replaced by the names.
            let names = path.commands.dropFirst().map { $0._commandName } + words.dropFirst(path.wordCount)
            guard let found = root.find(names) else {
                let typed = SafeText.line(words.joined(separator: " "))
                let mistake = path.mistake
                throw CommandError(
                    .notFound,
                    mistake?.message ?? "there is no command \"\(typed)\"",
                    hint: mistake?.hint ?? "See: accountctl --help"
                )
            }
            try context.output.document(page(found).text)
            return .ok
        }
        let pages = root.all.map(page)
        for page in pages {
            let path = into + "/" + page.name + ".1"
            do {
                try Data(page.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
            } catch {
                throw CommandError(.failure, "cannot write \(path)", hint: "Is \(into) a folder that you may write to?")
            }
        }
        context.messages.note("\(Wording.count(pages.count, "page")) written to \(into).")
        return .ok
    }
}
