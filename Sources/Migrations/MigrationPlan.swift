/// The migrations to run on a database, decided from the history alone.
package struct MigrationPlan: Sendable, Equatable {
    /// A migration and its state.
    package struct Item: Sendable, Equatable {
        package let number: Int
        package let name: String
        package let bundle: String
        package let state: State
        /// The row of the history, if there is one.
        package let applied: AppliedMigration?
    }

    /// The state of a migration in this database.
    package enum State: String, Sendable, Equatable {
        case applied
        /// Will be applied by `up`.
        case pending
        /// Belongs to a bundle that is not installed here.
        case notChosen = "not_chosen"
        /// The text differs from the applied one and does not declare that it replaces it.
        case changed
        /// Was applied by a program that has migrations which this one lacks.
        case unknown
        /// Has a lower number than an applied migration of its bundle.
        case outOfOrder = "out_of_order"
    }

    /// The items in the order of the migrations' numbers.
    package let items: [Item]

    /// The bundles that are or will be installed.
    package let bundles: [String]

    /// Decides from the migrations that this program knows, those applied, and the chosen bundles.
    init(set: MigrationSet, history: [AppliedMigration], bundles: [String]) {
        let applied = Dictionary(history.map { ($0.number, $0) }) { first, _ in first }
        var highest: [String: Int] = [:]
        for row in history { highest[row.bundle] = max(highest[row.bundle] ?? 0, row.number) }
        var items = set.migrations.map { migration in
            let row = applied[migration.number]
            return Item(
                number: migration.number,
                name: migration.name,
                bundle: migration.bundle,
                state: Self.state(of: migration, row, isWanted: bundles.contains(migration.bundle), highest: highest),
                applied: row
            )
        }
        let known = Set(set.migrations.map(\.number))
        items += history.filter { !known.contains($0.number) }.map { row in
            Item(number: row.number, name: row.name, bundle: row.bundle, state: .unknown, applied: row)
        }
        self.items = items.sorted { $0.number < $1.number }
        self.bundles = bundles
    }

    /// The migrations that `up` would run, in order.
    package var pending: [Item] { items.filter { $0.state == .pending } }

    /// The migrations that forbid any run.
    package var conflicts: [Item] {
        items.filter { $0.state == .changed || $0.state == .unknown || $0.state == .outOfOrder }
    }

    private static func state(
        of migration: Migration,
        _ row: AppliedMigration?,
        isWanted: Bool,
        highest: [String: Int]
    ) -> State {
        guard let row else {
            if !isWanted { return .notChosen }
            return migration.number < highest[migration.bundle] ?? 0 ? .outOfOrder : .pending
        }
        let isSame = row.checksum == migration.checksum || migration.replaced.contains(row.checksum)
        return isSame && row.name == migration.name ? .applied : .changed
    }
}
