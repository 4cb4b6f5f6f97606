import Terminal

/// The outcome of an act as reported by every command; the raw values are part of the interface.
enum ActOutcome: String, Sendable, CaseIterable {
    /// The act was performed and logged.
    case done
    /// The target already was in the desired state.
    case unchanged
    /// The act was refused and nothing was changed; the exit status reports this too.
    case refused
    /// A dry run found that the act would be performed.
    case wouldBeDone = "would_be_done"

    /// The name of the field in the output.
    static let field = "outcome"

    /// The outcome as a fact of a command's output.
    var fact: Sheet.Fact { .init(Self.field, "Outcome", .text(rawValue)) }
}
