import Terminal

/// What came of an act, in the same words everywhere; they are part of the interface.
enum ActOutcome: String, Sendable, CaseIterable {
    /// Done, and logged.
    case done
    /// It was so already.
    case unchanged
    /// Something forbids it; nothing was done, and the exit code says so, too.
    case refused
    /// A dry run: it would be done.
    case wouldBeDone = "would_be_done"

    /// What it is called in the output.
    static let field = "outcome"

    /// It as a fact of what a command shows.
    var fact: Sheet.Fact { .init(Self.field, "Outcome", .text(rawValue)) }
}
