import ArgumentParser

/// The options for a dry run, and for answering the confirmation on the command line.
protocol ConsentOptions: ParsableArguments, Sendable {
    var dryRun: Bool { get }

    /// Asks for confirmation, unless the command line gave the answer; an irreversible act is confirmed by its `id`.
    ///
    /// - Throws: `PromptRefusal`.
    func ask(_ question: String, id: String, in context: CommandContext) throws
}

/// The options of commands whose effect can be undone.
struct WriteOptions: ConsentOptions {
    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and change nothing.")
    var dryRun = false

    @Flag(name: [.customShort("y"), .long], help: "Answer yes to questions, except those that ask for an id.")
    var yes = false

    func ask(_ question: String, id: String, in context: CommandContext) throws {
        try context.confirm(question, yes: yes)
    }
}

/// The options of commands whose effect cannot be undone.
struct ConfirmOptions: ConsentOptions {
    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and change nothing.")
    var dryRun = false

    @Option(
        name: .long,
        help: ArgumentHelp("Answer the question with the id, the name or the count that it asks for.", valueName: "id")
    )
    var confirm: String?

    @Flag(name: .long, help: "Allow it in production, where it is refused otherwise.")
    var production = false

    func ask(_ question: String, id: String, in context: CommandContext) throws {
        try context.confirmIrreversible(question, id: id, self)
    }
}
