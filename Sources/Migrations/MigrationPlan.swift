/// What has to be done to a database, decided from the history alone.
package struct MigrationPlan: Sendable, Equatable {
    /// A migration and where it stands.
    package struct Item: Sendable, Equatable {
        package let number: Int
        package let name: String
        package let bundle: String
        package let state: State
        /// The row of the history, if there is one.
        package let applied: AppliedMigration?
    }

    /// Where a migration stands in this database.
    package enum State: String, Sendable, Equatable {
        case applied
        /// Will be applied by `up`.
        case pending
        /// Was begun without a transaction and did not end; `up` finds out how far it came.
        case interrupted
        /// Belongs to a bundle that is not installed here.
        case notChosen = "not_chosen"
        /// The file has another text than what was applied, and does not name that as replaced.
        case changed
        /// Was applied by a program that knows more migrations than this one.
        case unknown
        /// Has a lower number than one of its bundle that is applied already.
        case outOfOrder = "out_of_order"
    }

    /// The items in the order of the migrations' numbers.
    package let items: [Item]

    /// The bundles that are or will be installed.
    package let bundles: [String]

    /// Decides what to do, by the migrations that this program knows, those applied, and the bundles that are wanted.
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

    /// What `up` would run, in order.
    package var pending: [Item] { items.filter { $0.state == .pending || $0.state == .interrupted } }

    /// What forbids running anything.
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
        if !isSame || row.name != migration.name { return .changed }
        return row.state == .started ? .interrupted : .applied
    }
}
