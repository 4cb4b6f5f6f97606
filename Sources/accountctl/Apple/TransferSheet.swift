import AccountLifecycle
import Terminal

/// The output of the steps of a team transfer; a dry run has the same facts, without those of the run.
enum TransferSheet {
    static let askFields = ["due", "done", "refused", "doubted", "stopped_by"]
    static let applyFields = ["movable", "conflicts", "moved"]

    /// The sheet of a step that asks Apple; `run` is nil in a dry run.
    static func asking(_ due: Int, _ run: TeamTransfer.Run?) -> Sheet {
        Sheet(facts: [
            .init("due", "To ask about", .integer(due)),
            .init("done", "Done", .integer(run?.done)),
            .init("refused", "Cannot be moved", .integer(run?.refused)),
            .init("doubted", "Refused, and not recorded", .integer(run?.doubted)),
            .init("stopped_by", "Stopped by", .text(run?.stoppedBy)),
        ])
    }

    /// The sheet of the new identities, foreseen and applied; `run` is nil in a dry run.
    static func applying(_ foreseen: TeamTransfer.Run, _ run: TeamTransfer.Run?) -> Sheet {
        Sheet(facts: [
            .init("movable", "Can be moved", .integer(foreseen.done)),
            .init("conflicts", "Conflicts", .integer((run ?? foreseen).conflicts)),
            .init("moved", "Moved", .integer(run?.done)),
        ])
    }
}
