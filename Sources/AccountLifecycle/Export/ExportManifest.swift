import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The contents of an account's archive, and what was left out of it and why.
package struct ExportManifest: Sendable, Codable, Equatable {
    /// The rows of a table.
    package struct Table: Sendable, Codable, Equatable {
        /// `schema.table`.
        package let table: String
        package let rows: Int
        /// Rows with a key that names another account too: their data may be about that account.
        package let namesOthers: Int
        /// The archive's entry; nil if there was no row.
        var file: String?
        package var bytes: Int?
        /// The digest of the entry, in hexadecimal digits.
        var sha256: String?
        /// Columns that were left out because they hold secrets.
        package let leftOut: [String]
        /// Columns of a type whose owner created a cast to JSON: the entry has their values as text.
        package let asText: [String]

        enum CodingKeys: String, CodingKey {
            case table, rows, file, bytes, sha256
            case namesOthers = "names_others"
            case leftOut = "left_out"
            case asText = "as_text"
        }

        init(_ table: ExportSource.Table, counting counts: (rows: Int, namingOthers: Int)) {
            self.table = table.name.description
            rows = counts.rows
            namesOthers = counts.namingOthers
            leftOut = table.leftOut
            asText = table.asText
        }
    }

    /// An object of Storage.
    package struct StoredFile: Sendable, Codable, Equatable {
        /// Why the archive lacks the contents of a file.
        package enum Missing: String, Sendable, Codable {
            /// File contents were not requested.
            case leftOut = "left_out"
            /// By the time it was read, it was deleted or belonged to somebody else.
            case noLongerOwned = "no_longer_owned"
            /// Storage had a row but no contents.
            case noBytes = "no_bytes"
            /// Its key has an empty segment, or `.` or `..` as one: gateways would resolve it to another file.
            case unaddressable
        }

        let bucket: String
        let key: String
        /// The archive's entry; nil in a survey, and if ``missing`` says why.
        package var file: String?
        package var bytes: Int?
        var sha256: String?
        package var missing: Missing?
    }

    package let account: UUID
    let exportedAt: Date
    /// When the account was locked out for an erasure that removed rows and files before the archive was done, or when
    /// the account was found deleted; nil if neither happened.
    package internal(set) var erasureBegunAt: Date?
    package var tables: [Table]
    package var files: [StoredFile]

    enum CodingKeys: String, CodingKey {
        case account, tables, files
        case exportedAt = "exported_at"
        case erasureBegunAt = "erasure_begun_at"
    }

    /// Encodes the account's id in lower case, as the tables of the archive have it.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(account.text, forKey: .account)
        try container.encode(exportedAt, forKey: .exportedAt)
        try container.encodeIfPresent(erasureBegunAt, forKey: .erasureBegunAt)
        try container.encode(tables, forKey: .tables)
        try container.encode(files, forKey: .files)
    }

    /// The total number of rows.
    package var rows: Int { tables.reduce(0) { $0 + $1.rows } }

    /// The manifest as JSON; equal contents give the same bytes.
    func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}
