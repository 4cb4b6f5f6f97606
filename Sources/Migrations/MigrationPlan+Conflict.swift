extension MigrationPlan.Item {
    /// Why nothing may run while this migration is in this state; nil if it does not conflict.
    package var conflict: MigrationError? {
        let title = "\(number) \(name)"
        let version = applied?.version ?? "unknown"
        return switch state {
        case .applied, .pending, .notChosen:
            nil
        case .unknown:
            MigrationError(
                .conflict,
                "migration \(title) was applied by a newer version (\(version)) of this program",
                hint: "Use that version or a later one."
            )
        case .outOfOrder:
            MigrationError(
                .conflict,
                "migration \(title) has a lower number than one of its bundle that is applied already",
                hint: "Its row of accountctl.migrations was lost, or a program without it applied the later one: "
                    + "restore the row, or use that program."
            )
        case .changed:
            MigrationError(
                .conflict,
                "migration \(title) was applied with a different text than this program has",
                hint: "Applied migrations are never edited: use the version that applied it (\(version)), or a "
                    + "database created by this one."
            )
        }
    }
}
