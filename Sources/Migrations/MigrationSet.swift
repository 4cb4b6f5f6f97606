import SQLFiles

/// All migrations that a binary contains, in order.
package struct MigrationSet: Sendable {
    /// Ordered by number.
    package let migrations: [Migration]

    /// Checks that no number is used twice.
    ///
    /// - Throws: ``MigrationFileError``.
    package init(_ migrations: [Migration]) throws(MigrationFileError) {
        let ordered = migrations.sorted { $0.number < $1.number }
        for (first, second) in zip(ordered, ordered.dropFirst()) where first.number == second.number {
            throw MigrationFileError(fileName: second.fileName, reason: "\(first.fileName) has the same number")
        }
        self.migrations = ordered
    }

    /// The migrations of the product itself.
    ///
    /// - Throws: ``MigrationFileError``; a test verifies that it does not.
    package static func embedded() throws(MigrationFileError) -> MigrationSet {
        var migrations: [Migration] = []
        for file in EmbeddedSQL.migrations {
            migrations.append(try Migration(fileName: file.name, text: String(decoding: file.bytes(), as: UTF8.self)))
        }
        return try MigrationSet(migrations)
    }

    /// The distinct names of the bundles, in order of first appearance.
    package var bundles: [String] {
        migrations.reduce(into: []) { names, migration in
            if !names.contains(migration.bundle) { names.append(migration.bundle) }
        }
    }
}
