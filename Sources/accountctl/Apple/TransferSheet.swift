import AccountLifecycle
import Terminal

/// What the steps of a team transfer show: the same facts in a dry run, which leaves out what was done.
enum TransferSheet {
    static let askFields = ["due", "done", "refused", "doubted", "stopped_by"]
    static let applyFields = ["movable", "conflicts", "moved"]

    /// A step that asks Apple; nil for a run that is only rehearsed.
    static func asking(_ due: Int, _ run: TeamTransfer.Run?) -> Sheet {
        Sheet(facts: [
            .init("due", "To ask about", .integer(due)),
            .init("done", "Done", .integer(run?.done)),
            .init("refused", "Cannot be moved", .integer(run?.refused)),
            .init("doubted", "Refused, and not recorded", .integer(run?.doubted)),
            .init("stopped_by", "Stopped by", .text(run?.stoppedBy)),
        ])
    }

    /// New identities, foreseen and given; nil for a run that is only rehearsed.
    static func applying(_ foreseen: TeamTransfer.Run, _ run: TeamTransfer.Run?) -> Sheet {
        Sheet(facts: [
            .init("movable", "Can be moved", .integer(foreseen.done)),
            .init("conflicts", "Conflicts", .integer((run ?? foreseen).conflicts)),
            .init("moved", "Moved", .integer(run?.done)),
        ])
    }
}
