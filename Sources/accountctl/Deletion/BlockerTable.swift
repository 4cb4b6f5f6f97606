import AccountLifecycle
import Terminal

extension Sheet.Section {
    /// The table of what blocks a deletion.
    static func blockers(_ blockers: [Blocker], whenEmpty: String? = nil) -> Self {
        .init(
            "blockers",
            title: "Blockers",
            .table(
                [
                    TableColumn("Table"), TableColumn("What"), TableColumn("Name"),
                    TableColumn("Rows", alignment: .right), TableColumn("More"),
                ],
                rows: blockers.map {
                    [.text($0.table), .text($0.code.rawValue), .text($0.name), .integer($0.rows), .text($0.detail)]
                },
                names: ["table", "code", "name", "rows", "detail"],
                whenEmpty: whenEmpty
            )
        )
    }
}
