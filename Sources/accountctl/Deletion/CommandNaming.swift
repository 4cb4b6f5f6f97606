import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How words that tell an operator what to do name a command.
struct CommandNaming {
    private let whole: (@Sendable (String) -> String)?

    /// Commands by their names alone, for tables, which are narrow and have the id beside it.
    static let short = CommandNaming(whole: nil)

    /// Commands as they can be typed, with the options that chose the environment.
    static func typed(in context: CommandContext) -> CommandNaming {
        CommandNaming(whole: context.messages.rewrite)
    }

    /// A command, of a request where it acts on one.
    func callAsFunction(_ name: String, on request: UUID? = nil) -> String {
        guard let whole else { return name }
        return whole("accountctl \(name)" + (request.map { " " + $0.text } ?? ""))
    }
}
