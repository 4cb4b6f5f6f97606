extension DeletionPlan {
    /// Something that may refuse a delete.
    package enum Question: Sendable, Hashable, CustomStringConvertible {
        case trigger(DeletionCatalog.Trigger)
        /// A key onto rows that no condition here reaches: those further around a cycle, and those of one partition
        /// alone. And one of rows that go along, which we may not delete ourselves, or which come too late for sessions.
        case key(ForeignKey)
        /// The checks of rows whose key is set to NULL or a default.
        case checks(TableName)
        /// What tells rows apart where the table is published.
        case identity(TableName)

        package var description: String {
            switch self {
            case .trigger(let trigger): "\(trigger.table).\(trigger.name)"
            case .key(let key): "\(key.table).\(key.name)"
            case .checks(let table): "\(table) (checks)"
            case .identity(let table): "\(table) (replica identity)"
            }
        }
    }
}
