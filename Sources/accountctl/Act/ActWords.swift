import Terminal

/// What is said of an act that went well.
struct ActWords {
    /// What would be done.
    let plan: String
    /// What was done.
    let done: String
    /// The command that undoes it or goes on.
    let next: String?
    /// What still holds the target back after the act, each with the command that ends it.
    let brakes: [String]
    /// Whether it was undone again, for a dry run.
    let isRehearsed: Bool

    /// Warns of each brake that still holds it.
    func tellBrakes(in context: CommandContext) {
        for brake in brakes { context.messages.warning(brake) }
    }
}
