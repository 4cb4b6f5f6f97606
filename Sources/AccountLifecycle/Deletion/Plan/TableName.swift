package import Postgres

/// A table, by schema and name.
package struct TableName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let schema: String
    package let name: String

    package init(_ schema: String, _ name: String) {
        self.schema = schema
        self.name = name
    }

    /// Compares bytes, as the server does: Swift takes two spellings of one accented letter for equal.
    package static func == (left: TableName, right: TableName) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.schema.utf8.elementsEqual(right.schema.utf8)
    }

    /// `schema.table`, for people.
    package var description: String { "\(schema).\(name)" }

    /// `"schema"."table"`, for statements.
    package var quoted: Statement { "\(identifier: schema).\(identifier: name)" }

    package static func < (left: TableName, right: TableName) -> Bool {
        (left.schema, left.name) < (right.schema, right.name)
    }

    /// The table of accounts.
    static let users = TableName("auth", "users")

    /// The table of sessions, which the lock-out ends.
    static let sessions = TableName("auth", "sessions")

    /// The table in newer auth servers for what identity providers write about people.
    static let provisioned = TableName("auth", "scim_users")

    /// The table of files.
    static let files = TableName("storage", "objects")

    /// The table of legal holds.
    static let holds = TableName("accountctl", "holds")
}
