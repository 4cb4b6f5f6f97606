/// A lock that a change takes on a table that others use.
package struct TableLock: Sendable, Hashable, Codable {
    /// The lock modes that matter to others, weakest first.
    package enum Mode: String, Sendable, Codable, CaseIterable, Comparable {
        /// Readers and writers go on.
        case shareUpdateExclusive = "SHARE UPDATE EXCLUSIVE"
        /// Readers go on, writers wait.
        case share = "SHARE"
        /// Readers go on, writers wait.
        case shareRowExclusive = "SHARE ROW EXCLUSIVE"
        /// Everybody waits.
        case accessExclusive = "ACCESS EXCLUSIVE"

        package static func < (left: Mode, right: Mode) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The table, with its schema.
    package let table: String

    /// How strong the lock is.
    package let mode: Mode

    package init(_ mode: Mode, on table: String) {
        self.table = table
        self.mode = mode
    }
}
