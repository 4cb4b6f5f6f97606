import Postgres

/// Something in the database that would stop the delete of one account.
package struct Blocker: Sendable, Hashable, Codable {
    /// The table, with its schema.
    package let table: String
    /// The constraint or trigger, where there is one.
    package let name: String?
    /// How many rows of this account are concerned, where rows can be counted.
    package let rows: Int?
    /// The kind of blocker, as a stable code.
    package let code: Situation.Code
    /// Details: the right that is missing, the state the trigger raised.
    package let detail: String?

    init(table: String, name: String?, rows: Int?, code: Situation.Code, detail: String? = nil) {
        self.table = table
        self.name = name
        self.rows = rows
        self.code = code
        self.detail = detail
    }

    /// A legal hold, which has a foreign key to the account: if that key refuses the delete, no row of the app does.
    static let hold = Blocker(table: TableName.holds.description, name: nil, rows: nil, code: .legalHold)

    /// More rows of a table, reached by these keys, than a run may delete; nil if there are not so many.
    ///
    /// A table known to be small is not counted.
    static func tooMany(
        _ rows: @autoclosure () -> WaysToRows,
        of table: TableName,
        reachedBy keys: [ForeignKey],
        maximum: Int,
        deadline: Duration,
        on connection: isolated Connection
    ) throws -> Blocker? {
        guard keys.contains(where: { $0.mayHold(moreThan: maximum) }) else { return nil }
        let count = try rows().count(upTo: maximum + 1, deadline: deadline, on: connection)
        guard count > maximum else { return nil }
        return Blocker(table: table.description, name: nil, rows: count, code: .tooLarge)
    }

    /// A foreign key that is not in effect, whatever rows refer by it.
    static func idle(_ key: ForeignKey) -> Blocker {
        Blocker(
            table: key.table.description,
            name: key.name,
            rows: nil,
            code: .idleKey,
            detail: key.action == .unenforced ? "it is not enforced" : "its triggers on \(key.target) are disabled"
        )
    }
}
