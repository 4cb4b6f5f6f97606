/// A table, by schema and name.
package struct TableName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let schema: String
    package let name: String

    package init(_ schema: String, _ name: String) {
        self.schema = schema
        self.name = name
    }

    /// By bytes, as the server tells names apart: two spellings of one accent are the same to Swift.
    package static func == (left: TableName, right: TableName) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.schema.utf8.elementsEqual(right.schema.utf8)
    }

    /// `schema.table`, for people.
    package var description: String { "\(schema).\(name)" }

    package static func < (left: TableName, right: TableName) -> Bool {
        (left.schema, left.name) < (right.schema, right.name)
    }

    /// Where accounts are.
    static let users = TableName("auth", "users")

    /// Where sessions are, which the lock-out ends.
    static let sessions = TableName("auth", "sessions")

    /// Where newer auth servers have what identity providers write of people.
    static let provisioned = TableName("auth", "scim_users")

    /// Where files are.
    static let files = TableName("storage", "objects")

    /// Where legal holds are.
    static let holds = TableName("accountctl", "holds")
}

/// A foreign key as the catalog has it.
package struct ForeignKey: Sendable, Hashable {
    /// What happens to a row when the one it refers to is deleted (`pg_constraint.confdeltype`).
    enum DeleteRule: String, Sendable, Hashable, Codable {
        case noAction = "a"
        case restrict = "r"
        case cascade = "c"
        case setNull = "n"
        case setDefault = "d"
    }

    /// Whether the server follows the rule at all.
    package enum Action: Sendable, Hashable {
        case taken
        /// It does nothing, and refuses nothing: the triggers by which it would are disabled, as for loading data.
        case disabled
        /// Nor where there are no such triggers, since the key is not enforced.
        case unenforced
    }

    package let name: String
    /// The table that refers.
    package let table: TableName
    package let columns: [String]
    /// The table that is referred to.
    package let target: TableName
    let targetColumns: [String]
    let rule: DeleteRule
    /// Whether rows that refer go with the one they refer to: by the server's cascade, or since a deletion deletes them.
    var goesAlong: Bool
    /// Whether a referring column refuses NULL, so that `set null` would fail.
    let hasRequiredColumn: Bool
    /// Whether an index begins with the referring columns; without one each delete reads the whole table.
    let isIndexed: Bool
    /// The server's estimate of the rows of the referring table.
    package let estimatedRows: Int
    /// Whether the table that refers has its rows in partitions.
    let isPartitioned: Bool
    /// Whether the table that is referred to has.
    let isTargetPartitioned: Bool
    /// Whether the server follows the rule.
    package let action: Action

    init(
        name: String,
        table: TableName,
        columns: [String],
        target: TableName,
        targetColumns: [String],
        rule: DeleteRule,
        hasRequiredColumn: Bool = false,
        isIndexed: Bool = true,
        estimatedRows: Int = 0,
        isPartitioned: Bool = false,
        isTargetPartitioned: Bool = false,
        action: Action = .taken
    ) {
        self.name = name
        self.table = table
        self.columns = columns
        self.target = target
        self.targetColumns = targetColumns
        self.rule = rule
        goesAlong = rule == .cascade
        self.hasRequiredColumn = hasRequiredColumn
        self.isIndexed = isIndexed
        self.estimatedRows = estimatedRows
        self.isPartitioned = isPartitioned
        self.isTargetPartitioned = isTargetPartitioned
        self.action = action
    }
}
