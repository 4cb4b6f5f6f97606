import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The output of `deletion replay`, which has the same facts for a dry run and the real one.
enum DeletionReplaySheet {
    /// The facts in the order of the columns; the raw value is the name in the output.
    enum Fact: String, CaseIterable {
        case outcome, listed
        case listedAt = "listed_at"
        case accounts, erase, reopen, cancel, pause, open, stuck, decided, others, held, refused
        case skipFrom = "skip_from"
        case skipTo = "skip_to"
        case confirm

        fileprivate var label: String {
            switch self {
            case .outcome: "Outcome"
            case .listed: "Requests in the list"
            case .listedAt: "Written"
            case .accounts: "Accounts compared"
            case .erase: "Erased before, asked for again"
            case .reopen: "Lost requests, opened again"
            case .cancel: "Cancelled before, cancelled again"
            case .pause: "Stopped before, paused"
            case .open: "With an open request"
            case .stuck: "Erased before, stopped here"
            case .decided: "Decided about since"
            case .others: "Other accounts of these ids"
            case .held: "Under legal hold"
            case .refused: "Too late to cancel or pause"
            case .skipFrom: "Receipt numbers skipped from"
            case .skipTo: "Receipt numbers skipped to"
            case .confirm: "To be confirmed by"
            }
        }
    }

    private static let examples = "examples"
    /// The most accounts that are shown.
    private static let shown = 20

    static let outputFields = Fact.allCases.map(\.rawValue) + [examples]

    /// Makes the sheet; a fact without a value does not apply.
    static func of(_ values: [Fact: OutputValue], steps: [ErasureReplay.Step]) -> Sheet {
        Sheet([
            .init(.facts(Fact.allCases.map { .init($0.rawValue, $0.label, values[$0] ?? .null) })),
            .init(
                examples,
                title: "The first",
                .table(
                    [TableColumn("Act"), TableColumn("Account"), TableColumn("Request"), TableColumn("Requested")],
                    rows: steps.prefix(shown).map { step in
                        [
                            .text(step.act.rawValue), .personal(step.user.text, .identifier),
                            .uuid(step.listed.request), .date(step.listed.requestedAt),
                        ]
                    },
                    names: ["act", "account", "request", "requested_at"]
                )
            ),
        ])
    }
}
