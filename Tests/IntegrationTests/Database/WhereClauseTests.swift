import Foundation
import TestSupport
import Testing

/// Supabase's extension safeupdate refuses an update or delete without a where clause.
///
/// Sessions of the API have it, and a project can switch it on for `postgres`, too.
struct WhereClauseTests {
    @Test("every update and delete of the program has a where clause")
    func statements() throws {
        let helpers = ["Benchmarks", "Sandbox", "accountctl-sandbox"].map { Repository.path("Sources/\($0)/") }
        var found = 0
        for file in Repository.swiftFiles(below: "Sources") where !helpers.contains(where: file.hasPrefix) {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            // The job queue's tables, and those that a deletion empties, have their names from a variable.
            for match in text.matches(of: /\b(?:update|delete from) (?:(?:accountctl|auth|storage)\.\w+|\\\()/) {
                let rest = text[match.range.lowerBound...]
                let line = text[..<match.range.lowerBound].reversed().prefix { $0 != "\n" }
                // Within a longer literal, a quotation mark does not end it.
                let isShort = line.contains("\"")
                let end = rest.firstMatch(of: isShort ? /"""|"\n *\)|"\)/ : /"""/)?.range.lowerBound ?? rest.endIndex
                // Both statements of SealedTable share a clause.
                let isWhole = rest[..<end].contains(/\bwhere\b|\(isSame\)/)
                #expect(isWhole, "\(match.0) in \(file)")
                found += 1
            }
        }
        #expect(found > 100)
    }

    @Test("and so has every one of the migrations")
    func migrations() throws {
        for file in try Repository.sqlFiles(in: "sql/migrations") {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            for match in text.matches(of: /\n *(?:delete from|update) [a-z_.]+/) {
                let rest = text[match.range.lowerBound...]
                let end = rest.firstIndex(of: ";") ?? rest.endIndex
                let isWhole = rest[..<end].contains(/\bwhere\b/)
                #expect(isWhole, "\(match.0) in \(file)")
            }
        }
    }
}
