import Foundation
import TestSupport
import Testing

@testable import accountctl

/// Checks of what the commands of the examples print for programs.
extension ExampleTests {
    /// One example without output options for each command with output fields, and those fields.
    ///
    /// Commands that run until they are stopped, which write one document per line, and transfer steps are left out.
    static func documents(among examples: [Example]) throws -> [Example: [String]] {
        let marks = ["--json", "--csv", "--tsv", "--format", "--output", " | ", " > ", " < ", " && ", "$("]
        let plain = examples.filter { example in
            ExampleRules.stands[example.line] == nil && !marks.contains { example.line.contains($0) }
        }
        var documents: [Example: [String]] = [:]
        for command in try CommandDescription.root().all {
            let path = command.path.joined(separator: " ")
            let words = Array(command.path.dropFirst())
            let type = CommandPath(root: Accountctl.self, words: words).last as? any AccountctlCommand.Type
            guard let fields = type?.outputFields, !fields.isEmpty, !path.contains("apple transfer"),
                !ExampleRules.goesOn.contains(where: { path.hasPrefix($0.start) })
            else { continue }
            let example = plain.first { $0.line == path || $0.line.hasPrefix(path + " ") }
            documents[try #require(example, "no plain example of \(path)")] = fields
        }
        #expect(documents.count > 50)
        return documents
    }

    /// Expects that `--json` writes one document of the command's fields to standard output, and nothing else.
    func expectDocument(_ example: Example, of fields: [String], on stage: ExampleStage) async throws {
        let result = try await answered(example.line + " --json", on: stage)
        let expected = ExampleRules.endsWith[example.line]?.status ?? 0
        #expect(result.status == expected, "\(example) --json: \(result.errors)")
        guard let value = try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) else {
            Issue.record("\(example) --json is no JSON: \(result.output)")
            return
        }
        #expect(result.output.hasSuffix("\n"), "\(example) --json")
        for object in value as? [[String: Any]] ?? [value as? [String: Any] ?? [:]] {
            // `user list --count` has the field `count` in place of the others.
            let names = Set(object.keys)
            #expect(names.union(["count"]) == Set(fields).union(["count"]), "\(example) --json: \(names.sorted())")
        }
        #expect(Self.strange(in: value).isEmpty, "\(example) --json: \(Self.strange(in: value))")
    }

    /// Names in a document that are not in snake_case, and times that are not RFC 3339 in UTC.
    private static func strange(in value: Any) -> [String] {
        if let object = value as? [String: Any] {
            return object.flatMap { name, member -> [String] in
                (name.wholeMatch(of: /[a-z][a-z0-9_]*/) == nil ? [name] : []) + strange(in: member)
            }
        }
        if let items = value as? [Any] { return items.flatMap { strange(in: $0) } }
        guard let text = value as? String, text.prefixMatch(of: /\d{4}-\d\d-\d\d[ T]\d\d/) != nil else { return [] }
        return text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) == nil ? [text] : []
    }
}
