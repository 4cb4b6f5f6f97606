extension DeletionPlan {
    /// Something that may refuse a delete.
    package enum Question: Sendable, Hashable, CustomStringConvertible {
        case trigger(DeletionCatalog.Trigger)
        /// A key to rows that no condition here reaches: those further around a cycle, and those of a single partition.
        /// Also a key of rows that are deleted along, but that our role may not delete itself, or that are deleted too
        /// late for sessions.
        case key(ForeignKey)
        /// The check constraints on rows whose key is set to NULL or a default.
        case checks(TableName)
        /// The replica identity of a published table.
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
