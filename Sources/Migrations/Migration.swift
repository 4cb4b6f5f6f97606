import Crypto

/// An SQL file that is applied once.
package struct Migration: Sendable, Hashable {
    /// The number that orders it, from the digits at the start of the file name.
    package let number: Int
    /// The name without number and extension, such as `foundation`.
    package let name: String
    /// The bundle it belongs to; a bundle is installed as a whole or not at all.
    let bundle: String
    /// The SQL text that is run.
    package let sql: String
    /// SHA-256 of the normalised text, in hex.
    package let checksum: String
    /// Checksums of former texts of this file; a database where one of them was applied counts as having this one.
    let replaced: Set<String>

    /// Parses a file: number and name come from the file name, the rest from the comments at its head.
    ///
    /// ```sql
    /// -- accountctl: bundle=core
    /// create table …
    /// ```
    ///
    /// A harmful text is corrected in place, since no later migration runs before it. The new text names each former
    /// text that it replaces by `-- accountctl: replaces=CHECKSUM`, and leads to the same schema as a former text that
    /// did no harm.
    ///
    /// - Throws: ``MigrationFileError`` if the name or the head is invalid.
    package init(fileName: String, text: String) throws(MigrationFileError) {
        let digits = fileName.prefix { $0.isASCII && $0.isNumber }
        let rest = fileName.dropFirst(digits.count)
        guard let number = Int(digits), rest.hasPrefix("_"), rest.hasSuffix(".sql"), rest.count > 5,
            rest.dropFirst().dropLast(4).allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") })
        else {
            throw MigrationFileError(fileName: fileName, reason: "the name must be like 0001_name.sql")
        }
        let head = try MigrationHead(fileName: fileName, text: text)
        self.number = number
        self.name = String(rest.dropFirst().dropLast(4))
        bundle = head.bundle
        sql = text
        checksum = Self.checksum(of: text)
        replaced = head.replaced
    }

    /// The name of the file.
    package var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "_" + name + ".sql"
    }

    /// SHA-256 of the text with LF line ends and without trailing blanks on lines or at the end of the file.
    ///
    /// Changes that editors and version control make by themselves therefore do not count.
    static func checksum(of text: String) -> String {
        var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
            .map { line in line.lastIndex { !$0.isWhitespace }.map { line[...$0] } ?? "" }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return SHA256.hash(data: Array(lines.joined(separator: "\n").utf8))
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
    }
}

/// Why an SQL file is not a valid migration.
package struct MigrationFileError: Error, Equatable, CustomStringConvertible {
    let fileName: String
    let reason: String

    package var description: String { "\(fileName): \(reason)" }
}
