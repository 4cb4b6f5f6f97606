import AccountLifecycle
import Postgres

extension DatabaseDoctor {
    /// Foreign keys that are disabled or not enforced, with the statements that enable them again.
    static func idle(_ keys: [ForeignKey]) -> [DoctorFinding] {
        let byTarget = Dictionary(grouping: keys.filter { $0.action == .disabled }, by: \.target)
        return byTarget.sorted { $0.key < $1.key }.map { target, keys in disabled(keys, onto: target) }
            + keys.filter { $0.action == .unenforced }.map(unenforced)
    }

    private static func disabled(_ keys: [ForeignKey], onto target: TableName) -> DoctorFinding {
        let names = keys.map { "\($0.name) of \($0.table)" }.joined(separator: ", ")
        let statement: Statement = "alter table \(target.quoted) enable trigger all"
        return DoctorFinding(
            .error,
            "deletion.idle_key",
            "foreign keys onto \(target) do not act, since its triggers are disabled: \(names)",
            why: leavingRows,
            todo: "Drop each key and create it again; or as a superuser, which enables all triggers of the table: "
                + statement.text
        )
    }

    private static func unenforced(_ key: ForeignKey) -> DoctorFinding {
        let statement: Statement = "alter table \(key.table.quoted) alter constraint \(identifier: key.name) enforced"
        return DoctorFinding(
            .error,
            "deletion.idle_key",
            "the foreign key \(key.name) of \(key.table) onto \(key.target) is not enforced",
            why: leavingRows,
            todo: "Drop the key, or: \(statement.text)"
        )
    }

    private static let leavingRows =
        "A deletion that would follow such a key is blocked: the server would leave its rows behind."
}
