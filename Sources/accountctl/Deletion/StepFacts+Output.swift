import AccountLifecycle
import Terminal

extension StepFacts {
    /// The counts, as members of the output's object.
    var shownCounts: [String: OutputValue] { (counts ?? [:]).mapValues { .integer($0) } }

    /// Everything that is not a count: what could not be searched, what was kept, what was not tried.
    var shownNames: [String: OutputValue] {
        var members: [String: OutputValue] = [:]
        if let unreadable { members["unreadable"] = .list(unreadable.map { .text($0.name) }) }
        if let untried { members["untried"] = .list(untried.map { .text($0) }) }
        if let unindexed { members["unindexed"] = .list(unindexed.map { .text($0) }) }
        if let kept { members["kept"] = .object(kept.mapValues { .integer($0) }) }
        if let accepted { members["accepted"] = .list(accepted.map { .text($0.column) }) }
        return members
    }
}
