extension DeletionPlan {
    /// Something that may refuse a delete.
    package enum Question: Sendable, Hashable, CustomStringConvertible {
        case trigger(DeletionCatalog.Trigger)
        /// A foreign key that may refuse the delete, in one of these cases:
        ///
        /// - No query here can find the rows that it refers to: they are further around a cycle of keys, or the key
        ///   refers to a single partition.
        /// - The delete also removes the referring rows, but our role may not delete them beforehand, or they would have
        ///   to be gone before the sessions end.
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
