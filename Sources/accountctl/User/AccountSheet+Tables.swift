import AccountLifecycle
import JobQueue
import Postgres
import Terminal

/// The tables of an account's screen.
extension AccountSheet {
    var identities: Sheet.Section {
        .init(
            "identities",
            title: "Identities",
            .table(
                [
                    TableColumn("Provider"), TableColumn("Id at the provider"), TableColumn("E-mail"),
                    TableColumn("Last sign-in"),
                ],
                rows: report.identities.map { identity in
                    [
                        .text(identity.provider), .personal(identity.providerID, .identifier),
                        .personal(identity.email, .email), .date(identity.lastSignInAt),
                    ]
                },
                names: ["provider", "provider_id", "email", "last_sign_in_at"],
                whenEmpty: "none"
            )
        )
    }

    var events: Sheet.Section {
        .init(
            "apple_events",
            title: "Reported by Apple or a device",
            .table(
                [TableColumn("When"), TableColumn("What"), TableColumn("By"), TableColumn("Outcome")],
                rows: report.events.map {
                    [.date($0.happenedAt), .text($0.kind), .text($0.source), .text($0.outcome)]
                },
                names: ["happened_at", "kind", "source", "outcome"]
            )
        )
    }

    var files: Sheet.Section {
        .init(
            "files",
            title: report.filesAreWhole ? "Files" : "Files in its folder, and the avatar",
            .table(
                [
                    TableColumn("Bucket"), TableColumn("Files", alignment: .right),
                    TableColumn("Size", alignment: .right), TableColumn("Not in use", alignment: .right),
                    TableColumn("Shared, stay", alignment: .right),
                ],
                rows: report.files.map {
                    [
                        .text($0.bucket), .integer($0.count), .bytes($0.bytes), .integer($0.unused),
                        .integer($0.shared),
                    ]
                },
                names: ["bucket", "count", "bytes", "unused", "shared"]
            )
        )
    }

    var deletions: Sheet.Section {
        .init(
            "deletions",
            title: "Deletion requests",
            .table(
                [
                    TableColumn("Request"), TableColumn("State"), TableColumn("By"), TableColumn("Requested"),
                    TableColumn("Ended"),
                ],
                rows: report.deletions.map { deletion in
                    [
                        .uuid(deletion.request), .text(deletion.state.rawValue), .text(deletion.origin),
                        .date(deletion.requestedAt),
                        .date(deletion.finishedAt),
                    ]
                },
                names: ["request", "state", "origin", "requested_at", "finished_at"]
            )
        )
    }

    var jobs: Sheet.Section {
        .init(
            "jobs",
            title: "Open jobs",
            .table(
                [
                    TableColumn("Job", alignment: .right), TableColumn("Kind"), TableColumn("State"),
                    TableColumn("Runs"),
                ],
                rows: report.jobs.map { [.integer($0.id), .text($0.kind), .text($0.state.rawValue), .date($0.runAt)] },
                names: ["id", "kind", "state", "run_at"]
            )
        )
    }

    var holds: Sheet.Section {
        .init(
            "holds",
            title: "Legal holds",
            .table(
                [
                    TableColumn("Number", alignment: .right), TableColumn("Since"), TableColumn("By"),
                    TableColumn("Reason"),
                ],
                rows: report.holds.map {
                    [.integer($0.id), .date($0.placedAt), .text($0.placedBy), .text($0.reason)]
                },
                names: ["id", "placed_at", "placed_by", "reason"]
            )
        )
    }

    var tables: Sheet.Section {
        .init(
            "app_tables",
            title: "The app's tables",
            .table(
                [
                    TableColumn("Table"), TableColumn("Column"), TableColumn("Rows", alignment: .right),
                    TableColumn("Not counted"), TableColumn("When the account is deleted"),
                ],
                rows: report.dependents.map { dependent in
                    [
                        .text(dependent.table), .text(dependent.column),
                        .integer(dependent.rows), .text(dependent.uncounted?.rawValue), .text(dependent.onDelete),
                    ]
                },
                names: ["table", "column", "rows", "uncounted", "on_delete"]
            )
        )
    }

    var operations: Sheet.Section {
        .init(
            "operations",
            title: "What operators did",
            .table(
                [TableColumn("When"), TableColumn("Who"), TableColumn("What"), TableColumn("Why")],
                rows: report.operations.map { [.date($0.at), .text($0.who), .text($0.action), .text($0.reason)] },
                names: ["at", "who", "action", "reason"]
            )
        )
    }
}
