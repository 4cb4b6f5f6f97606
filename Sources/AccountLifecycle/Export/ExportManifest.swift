#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What an archive of an account holds, what was left out of it and why.
package struct ExportManifest: Sendable, Codable, Equatable {
    /// The rows of a table.
    package struct Table: Sendable, Codable, Equatable {
        /// `schema.table`.
        package let table: String
        package let rows: Int
        /// Rows that name another account as well, by a key: what they tell may be that one's.
        package let namesOthers: Int
        /// The entry of the archive; nil where there was no row.
        var file: String?
        package var bytes: Int?
        /// The digest of the entry, in hexadecimal digits.
        var sha256: String?
        /// Columns that hold secrets.
        package let leftOut: [String]
        /// Columns of a type that has a cast to JSON of its owner's: the entry has their values as the type writes them.
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
        /// Why the archive has no bytes of a file.
        package enum Missing: String, Sendable, Codable {
            /// Files were not wanted.
            case leftOut = "left_out"
            /// By the time it was to be read it had gone, or was somebody else's.
            case noLongerOwned = "no_longer_owned"
            /// Storage had a row and no bytes.
            case noBytes = "no_bytes"
            /// Its key has an empty segment or one of `.` or `..`: gateways would make another file's of it.
            case unaddressable
        }

        let bucket: String
        let key: String
        /// The entry of the archive; nil where ``missing`` says why, and in a survey.
        package var file: String?
        package var bytes: Int?
        var sha256: String?
        package var missing: Missing?
    }

    package let account: UUID
    let exportedAt: Date
    /// When the account was locked out for an erasure that took rows and files away before the archive was done, or was
    /// seen to be gone; nil where neither is so.
    package internal(set) var erasureBegunAt: Date?
    package var tables: [Table]
    package var files: [StoredFile]

    enum CodingKeys: String, CodingKey {
        case account, tables, files
        case exportedAt = "exported_at"
        case erasureBegunAt = "erasure_begun_at"
    }

    /// All rows.
    package var rows: Int { tables.reduce(0) { $0 + $1.rows } }

    /// The manifest as JSON, the same bytes for the same contents.
    func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}
