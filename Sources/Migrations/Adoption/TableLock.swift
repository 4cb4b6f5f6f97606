/// A lock that a change takes on a table in use.
package struct TableLock: Sendable, Hashable, Codable {
    /// The lock modes that affect other sessions, weakest first.
    package enum Mode: String, Sendable, Codable, CaseIterable, Comparable {
        /// Readers and writers continue.
        case shareUpdateExclusive = "SHARE UPDATE EXCLUSIVE"
        /// Readers continue, writers wait.
        case share = "SHARE"
        /// Readers continue, writers wait.
        case shareRowExclusive = "SHARE ROW EXCLUSIVE"
        /// Readers and writers wait.
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
