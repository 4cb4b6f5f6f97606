import Foundation

/// A page of the documentation: the README or an article.
package struct Document: Sendable {
    /// A line that is not the fence of a code block.
    package struct Line: Sendable {
        package let text: String
        /// The language of the code block around the line, possibly empty; nil outside code blocks.
        package let language: String?
    }

    /// The path of the page, relative to the top of the checkout.
    package let path: String
    package let text: String

    /// Returns every page: the README and all Markdown files in the folder of articles.
    package static func all() throws -> [Document] {
        let folder = "Sources/accountctl/Documentation.docc"
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.path(folder)).sorted()
        let paths = ["README.md"] + names.filter { $0.hasSuffix(".md") }.map { folder + "/" + $0 }
        return try paths.map { path in
            Document(path: path, text: try String(contentsOfFile: Repository.path(path), encoding: .utf8))
        }
    }

    /// Returns the text of all pages, concatenated.
    package static func wholeText() throws -> String { try all().map(\.text).joined(separator: "\n") }

    /// The lines of the page, without the fences of code blocks.
    package var lines: [Line] {
        var language: String?
        var lines: [Line] = []
        for line in text.components(separatedBy: "\n") {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.hasPrefix("```") {
                language = language == nil ? String(trimmed.dropFirst(3)) : nil
            } else {
                lines.append(Line(text: line, language: language))
            }
        }
        return lines
    }
}
