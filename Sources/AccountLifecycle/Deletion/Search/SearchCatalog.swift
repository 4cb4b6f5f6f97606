/// Every column that can hold an identifier, and everything that cannot be read.
package struct SearchCatalog: Sendable, Hashable {
    /// A table, leaf partition or materialised view to search.
    struct Table: Sendable, Hashable {
        /// Identifies the table even if it is renamed.
        let oid: Int64
        let name: TableName
        let columns: [Column]
        /// An estimate from the server's statistics.
        let bytes: Int64
        /// Whether any value is stored outside its row (TOAST): otherwise no row is long.
        let hasLongValues: Bool

        /// Which of Storage's file tables this is; nil for all other tables.
        var files: Files? { name.schema == "storage" ? Files(rawValue: name.name) : nil }

        /// Whether it has the same names as this table in another reading, and its columns have.
        func hasNames(of other: Table) -> Bool {
            name == other.name && columns == other.columns
        }

        /// A column's name in findings.
        func columnName(_ column: Column) -> String { "\(name).\(column.name)" }

        /// This table without its columns of numbers; nil when nothing is left.
        var withoutNumbers: Table? {
            let others = columns.filter { !$0.form.isOfNumbers }
            guard !others.isEmpty else { return nil }
            return Table(
                oid: oid,
                name: name,
                columns: others,
                bytes: bytes,
                hasLongValues: hasLongValues
            )
        }
    }

    /// The tables of Storage's files: whoever uploads chooses the name, and owns the row.
    enum Files: String, Sendable, Hashable {
        case objects
        case unfinished = "s3_multipart_uploads"
        case parts = "s3_multipart_uploads_parts"
    }

    /// A column to search.
    struct Column: Sendable, Hashable {
        /// How the values of a column are compared.
        enum Form: String, Sendable, Hashable {
            /// `uuid`: compared as such.
            case uuid
            /// `uuid[]`: overlaps.
            case uuidArray = "uuid_array"
            /// `bigint` and `numeric`, which can hold a long id or a telephone number: compared as such.
            case number
            /// Arrays of them: overlaps.
            case numberArray = "number_array"
            /// Everything else that can hold text, by its text.
            case text

            /// Whether only long numbers are searched for in it: a counter can reach shorter ones.
            var isOfNumbers: Bool { self == .number || self == .numberArray }
        }

        let name: String
        let form: Form
        /// Whether its type is text or varchar, or a domain over one: it is read as it is, without any cast.
        let isText: Bool
    }

    let tables: [Table]
    /// What cannot be searched, `schema.table` or `schema.table.column`, and why: no result may claim that it is clean.
    let unreadable: [Unreadable]

    /// Something that was not searched.
    package struct Unreadable: Sendable, Hashable, Codable, Comparable {
        /// Why it was not searched.
        enum Reason: String, Sendable, Hashable, Codable {
            /// The data is on another server.
            case foreignTable = "foreign_table"
            /// Bytes of unknown meaning.
            case bytes
            /// Our role may not read it.
            case noRight = "no_right"
            /// Row-level security hides rows from our role.
            case hiddenRows = "hidden_rows"
        }

        /// `schema.table` or `schema.table.column`.
        package let name: String
        let reason: Reason

        package static func < (left: Unreadable, right: Unreadable) -> Bool { left.name < right.name }
    }

    /// The estimated size of everything to search.
    var bytes: Int64 { tables.reduce(0) { $0 + $1.bytes } }

    /// The tables in two parts of about the same size.
    var halves: ([Table], [Table]) {
        var left: (tables: [Table], bytes: Int64) = ([], 0)
        var right = left
        for table in tables.sorted(by: { $0.bytes > $1.bytes }) {
            if left.bytes <= right.bytes {
                left.tables.append(table)
                left.bytes += table.bytes
            } else {
                right.tables.append(table)
                right.bytes += table.bytes
            }
        }
        return (left.tables, right.tables)
    }
}
