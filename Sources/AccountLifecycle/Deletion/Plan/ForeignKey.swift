/// A foreign key as described in the catalog.
package struct ForeignKey: Sendable, Hashable {
    /// The rule for a referring row when the referenced row is deleted (`pg_constraint.confdeltype`).
    enum DeleteRule: String, Sendable, Hashable, Codable {
        case noAction = "a"
        case restrict = "r"
        case cascade = "c"
        case setNull = "n"
        case setDefault = "d"
    }

    /// Whether the server applies the rule at all.
    package enum Action: Sendable, Hashable {
        case taken
        /// The key does nothing and refuses nothing: its triggers are disabled, as for loading data.
        case disabled
        /// The key is not enforced, so there are no such triggers.
        case unenforced
    }

    package let name: String
    /// The referring table.
    package let table: TableName
    package let columns: [String]
    /// The referenced table.
    package let target: TableName
    let targetColumns: [String]
    let rule: DeleteRule
    /// Whether referring rows are deleted with the referenced row: by the server's cascade, or because a deletion
    /// deletes them.
    var goesAlong: Bool
    /// Whether a referring column refuses NULL, so that `set null` would fail.
    let hasRequiredColumn: Bool
    /// Whether an index begins with the referring columns; without one each delete reads the whole table.
    let isIndexed: Bool
    /// The server's estimate of the rows of the referring table.
    package let estimatedRows: Int
    /// Whether the server has counted all of these rows; false after an upgrade of its major version, until an ANALYZE.
    package let isCounted: Bool
    /// Whether the referring table is partitioned.
    let isPartitioned: Bool
    /// Whether the referenced table is partitioned.
    let isTargetPartitioned: Bool
    /// Whether the server applies the rule.
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
        isCounted: Bool = true,
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
        self.isCounted = isCounted
        self.isPartitioned = isPartitioned
        self.isTargetPartitioned = isTargetPartitioned
        self.action = action
    }

    /// Whether the referring table may have more rows than that.
    func mayHold(moreThan rows: Int) -> Bool { !isCounted || estimatedRows > rows }
}
