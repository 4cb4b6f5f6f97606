import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Stops deletions before their next irreversible step.
struct DeletionPauseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop one deletion, or all, before the next irreversible step.",
        discussion: """
            EXAMPLES
              accountctl deletion pause --all --reason "looking into a complaint"
              accountctl deletion pause 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    @Argument(help: "A request id, or the user id of its account.")
    var request: String?

    @Flag(name: .long, help: "Every deletion, those to come as well.")
    var all = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if all == (request != nil) { throw ValidationError("name a request, or give --all") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let reason = acting.reason
        guard let name = request else {
            if writing.dryRun {
                context.messages.note("would pause every deletion")
                return .ok
            }
            try await context.withConnection { try await desk.pauseAll(reason: reason, on: $0) }
            context.messages.note("every deletion is paused; go on with: accountctl deletion resume --all")
            return .ok
        }
        let isDry = writing.dryRun
        let (id, act) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: desk.hashKey, on: connection)
            return (id, isDry ? .done : try await desk.pause(id, reason: reason, on: connection))
        }
        return try context.report(act, id, done: isDry ? "would be paused" : "paused")
    }
}

/// Lets paused deletions go on.
struct DeletionResumeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let one paused deletion, or all, go on.",
        discussion: """
            After resume --all, what is paused by itself stays so.

            EXAMPLES
              accountctl deletion resume --all
            """
    )

    @Argument(help: "A request id, or the user id of its account.")
    var request: String?

    @Flag(name: .long, help: "Every deletion that is not paused by itself.")
    var all = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if all == (request != nil) { throw ValidationError("name a request, or give --all") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        guard let name = request else {
            if writing.dryRun {
                context.messages.note("would let every deletion go on")
                return .ok
            }
            try await context.withConnection { try await desk.resumeAll(on: $0) }
            context.messages.note("deletions go on")
            return .ok
        }
        let isDry = writing.dryRun
        let (id, act) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: desk.hashKey, on: connection)
            return (id, isDry ? .done : try await desk.resume(id, on: connection))
        }
        return try context.report(act, id, done: isDry ? "would go on" : "goes on")
    }
}
