import Foundation
import TestSupport

@testable import accountctl

/// A command line that the help or the documentation shows.
struct Example: Hashable, CustomStringConvertible {
    /// The command line, in one line and without the remark that follows it in the help.
    let line: String
    /// The help or the document that shows it.
    let source: String

    var description: String { "\(line) (\(source))" }

    /// All examples, each line once.
    static func all() throws -> [Example] {
        var seen: Set<String> = []
        return try (ofHelp() + ofDocuments()).filter { seen.insert($0.line).inserted }
    }

    /// The examples in the help of all commands.
    private static func ofHelp() throws -> [Example] {
        try CommandDescription.root().all.flatMap { command in
            let help = HelpText(abstract: "", discussion: command.discussion ?? "")
            return joined(help.examples).map { line in
                // A remark follows two or more blanks.
                let end = line.range(of: "  ")?.lowerBound ?? line.endIndex
                return Example(line: String(line[..<end]), source: "help of " + command.path.joined(separator: " "))
            }
        }
    }

    private static func ofDocuments() throws -> [Example] { try Document.all().flatMap(ofDocument) }

    /// The lines of a page's shell blocks, and the commands it names in its sentences.
    private static func ofDocument(_ document: Document) -> [Example] {
        var lines: [String] = []
        var inline: [String] = []
        for line in document.lines {
            let trimmed = line.text.trimmingCharacters(in: .whitespaces)
            if line.language == "sh", !trimmed.isEmpty {
                lines.append(trimmed)
            } else if line.language == nil {
                inline += line.text.matches(of: /`(accountctl [^`]+)`/).map { String($0.1) }
            }
        }
        return (joined(lines) + inline).map { Example(line: $0, source: document.path) }
    }

    /// Joins the lines of a command that continues after a backslash.
    private static func joined(_ lines: [String]) -> [String] {
        lines.reduce(into: []) { joined, line in
            if let last = joined.last, last.hasSuffix("\\") {
                joined[joined.count - 1] = last.dropLast() + line.trimmingCharacters(in: .whitespaces)
            } else {
                joined.append(line)
            }
        }
    }
}
