import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How messages write the commands that they suggest to an operator.
struct CommandNaming {
    private let whole: (@Sendable (String) -> String)?

    /// Only the command's name, for tables, which are narrow and show the id in another column.
    static let short = CommandNaming(whole: nil)

    /// The whole command as it can be typed, with the options that chose the environment.
    static func typed(in context: CommandContext) -> CommandNaming {
        CommandNaming(whole: context.messages.rewrite)
    }

    /// Writes a command, with the request that it acts on, if any.
    func callAsFunction(_ name: String, on request: UUID? = nil) -> String {
        guard let whole else { return name }
        return whole("accountctl \(name)" + (request.map { " " + $0.text } ?? ""))
    }
}
