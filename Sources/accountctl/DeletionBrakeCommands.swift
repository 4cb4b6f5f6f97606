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

/// Puts a legal hold on an account.
struct DeletionHoldCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a legal hold on an account: nobody can delete it, in any way.",
        discussion: """
            EXAMPLES
              accountctl deletion hold anna@example.com --reason "case 4711"
            """
    )

    @Argument(help: "A user id, e-mail address, phone number, Apple sub or username.")
    var user: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if acting.reason?.isEmpty ?? true { throw ValidationError("--reason is needed: a hold says what it is for") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let term = try lookup.term(user)
        let reason = acting.reason ?? ""
        let isDry = writing.dryRun
        let isThere = try await context.withConnection { connection in
            let account = try context.oneAccount(term, in: AccountDirectory(hashKey: desk.hashKey), on: connection)
            return isDry ? true : try await desk.hold(account.id, reason: reason, on: connection)
        }
        guard isThere else { throw CommandError(.notFound, "the account has just gone") }
        context.messages.note(isDry ? "would be held" : "held; release with: accountctl deletion release")
        return .ok
    }
}

/// Releases an account from legal hold.
struct DeletionReleaseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Release an account from every legal hold.",
        discussion: """
            EXAMPLES
              accountctl deletion release anna@example.com --reason "case 4711 closed"
            """
    )

    @Argument(help: "A user id, e-mail address, phone number, Apple sub or username.")
    var user: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let term = try lookup.term(user)
        let reason = acting.reason
        let isDry = writing.dryRun
        let released = try await context.withConnection { connection in
            let account = try context.oneAccount(term, in: AccountDirectory(hashKey: desk.hashKey), on: connection)
            return isDry ? nil : try await desk.release(account.id, reason: reason, on: connection)
        }
        guard let released else {
            context.messages.note("would be released")
            return .ok
        }
        guard released > 0 else { throw CommandError(.notFound, "there is no hold on this account") }
        context.messages.note("released from \(Wording.count(released, "hold"))")
        return .ok
    }
}
