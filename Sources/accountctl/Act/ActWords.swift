import Terminal

/// The messages about an act that succeeded.
struct ActWords {
    /// The message of a dry run.
    let plan: String
    /// The message after the act.
    let done: String
    /// The command to suggest next, which undoes or continues the act.
    let next: String?
    /// What still holds the target back after the act, each with the command that ends it.
    let brakes: [String]
    /// Whether the act was a dry run, and so rolled back.
    let isRehearsed: Bool

    /// Warns of each brake that still holds the target back.
    func tellBrakes(in context: CommandContext) {
        for brake in brakes { context.messages.warning(brake) }
    }
}
