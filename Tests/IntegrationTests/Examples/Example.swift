import Foundation
import TestSupport

@testable import accountctl

/// A command line that the help or the documentation shows.
struct Example: Hashable, CustomStringConvertible {
    /// As it stands there, in one line and without the remark that the help has behind it.
    let line: String
    /// Where it stands.
    let source: String

    var description: String { "\(line) (\(source))" }

    /// Every example there is, each line once.
    static func all() throws -> [Example] {
        var seen: Set<String> = []
        return try (ofHelp() + ofDocuments()).filter { seen.insert($0.line).inserted }
    }

    /// The examples of every command's help.
    private static func ofHelp() throws -> [Example] {
        try CommandDescription.root().all.flatMap { command in
            let help = HelpText(abstract: "", discussion: command.discussion ?? "")
            return joined(help.examples).map { line in
                // A remark stands behind several blanks.
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

    /// Puts a command line that goes on after a backslash into one.
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
