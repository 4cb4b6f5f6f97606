import ArgumentParser
import Terminal

/// The screen of `--help`: the examples come first, because they answer most questions.
///
/// The argument parser's own screen wraps examples wherever the line is full, and leaves them where they are in the
/// discussion. Its usage, arguments and options are used unchanged.
struct HelpScreen {
    /// The maximum width of lines of text.
    private static let widest = 100

    let command: any ParsableCommand.Type
    /// The argument parser's own screen.
    let parsed: String
    /// The columns that the screen may take.
    let columns: Int

    var text: String {
        let help = HelpText(command)
        let columns = min(columns, Self.widest)
        var blocks = [DisplayWidth.wrap(help.abstract, columns: columns).joined(separator: "\n")]
        let examples = help.examples.isEmpty ? Self.firstExamples(below: command) : help.examples
        if !examples.isEmpty { blocks.append("EXAMPLES\n" + examples.map { "  " + $0 }.joined(separator: "\n")) }
        blocks += help.paragraphs.map { DisplayWidth.wrap($0, columns: columns).joined(separator: "\n") }
        for section in help.sections + [HelpText.fields(of: command)].compactMap({ $0 }) {
            let lines = section.lines.flatMap { line in
                // A row of a table is not wrapped.
                line.contains("  ") ? [line] : DisplayWidth.wrap(line, columns: columns - 2)
            }
            blocks.append(([section.title] + lines.map { "  " + $0 }).joined(separator: "\n"))
        }
        blocks.append(usage)
        return blocks.joined(separator: "\n\n")
    }

    /// The parser's screen from its usage on.
    private var usage: String {
        // By bytes: a string search would first build a table of characters.
        let text = parsed.utf8
        guard let start = text.indices.first(where: { text[$0...].starts(with: "USAGE: ".utf8) }) else { return parsed }
        let line = parsed[start...].prefix { $0 != "\n" }
        // The options of every command would fill three more lines; they come last and are listed below.
        guard let shared = line.firstRange(of: " [--database-url ") else { return String(parsed[start...]) }
        return "\(line[..<shared.lowerBound]) [<options>]\(parsed[line.endIndex...])"
    }

    /// One example of each subcommand, for a group that has no examples of its own.
    private static func firstExamples(below command: any ParsableCommand.Type) -> [String] {
        command.shownSubcommands.compactMap {
            HelpText($0).examples.first { $0.hasPrefix("accountctl ") && !$0.hasSuffix("\\") }
        }
    }
}

extension HelpText {
    init(_ command: any ParsableCommand.Type) {
        self.init(abstract: command.configuration.abstract, discussion: command.configuration.discussion)
    }

    /// The section of selectable fields; nil for a command that prints no data.
    static func fields(of command: any ParsableCommand.Type) -> Section? {
        guard let command = command as? any AccountctlCommand.Type, !command.outputFields.isEmpty else { return nil }
        var lines = [command.outputFields.joined(separator: ", ")]
        if !command.sectionFields.isEmpty {
            lines.append("With --csv and --tsv also " + command.sectionFields.joined(separator: ", "))
        }
        return Section(title: "FIELDS", lines: lines)
    }
}
