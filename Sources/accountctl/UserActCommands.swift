import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CommandContext {
    /// Acts on the one account that a term names, and tells what came of it.
    fileprivate func act(
        on term: LookupTerm,
        _ acting: ActingOptions,
        isDry: Bool,
        done: String,
        _ body: @Sendable (AccountDesk, UUID, isolated Connection) async throws -> AccountDesk.Outcome
    ) async throws -> ExitStatus {
        let hashKey = try neededHashKey()
        let directory = AccountDirectory(hashKey: hashKey)
        let desk = AccountDesk(operatorName: try desk(acting).operatorName, hashKey: hashKey)
        let (id, outcome) = try await withConnection { connection -> (UUID, AccountDesk.Outcome?) in
            let match = try oneAccount(term, in: directory, on: connection)
            return (match.id, isDry ? nil : try await body(desk, match.id, connection))
        }
        let name = id.uuidString.lowercased()
        switch outcome {
        case nil: messages.note("Would be done: \(done).")
        case .done(let sessions)?:
            messages.note("Done: \(done)." + (sessions > 0 ? " \(Wording.count(sessions, "session")) ended." : ""))
        case .unchanged?: messages.note("Nothing to do.")
        case .unknownUser?: throw CommandError(.notFound, "the account \(name) has just gone")
        case .beingErased(let state)?:
            throw CommandError(
                .blocked,
                "the account \(name) is being erased (\(state))",
                hint: "See: accountctl deletion show \(name)"
            )
        }
        try output.show(Sheet([.init(.facts([.init("id", "Account", .text(name))]))]))
        return .ok
    }
}

/// Ends every session of an account.
struct UserSignOutCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End every session of an account.",
        discussion: """
            Access tokens that were given out live on until they expire, at most an hour by default; the person can sign in again.

            EXAMPLES
              accountctl user sign-out anna@example.com --reason "lost phone, ticket 4711"
            """
    )

    @Argument(help: "Any term that user find takes.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason
        return try await context.act(
            on: try lookup.term(term),
            acting,
            isDry: writing.dryRun,
            done: "signed out everywhere"
        ) {
            desk,
            user,
            connection in
            try await desk.signOut(user, reason: reason, on: connection)
        }
    }
}

/// Forbids an account to sign in.
struct UserSuspendCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Forbid an account to sign in, and end its sessions.",
        discussion: """
            Undone by user restore, or by itself after the time given with --for. The account's profile and files can no longer be
            changed with tokens that are still out.

            EXAMPLES
              accountctl user suspend anna@example.com --reason "spam, ticket 4711" --for 30d
            """
    )

    @Argument(help: "Any term that user find takes.")
    var term: String

    @Option(name: .customLong("for"), help: ArgumentHelp("How long, such as 12h or 30d.", valueName: "time"))
    var length: String = "3650d"

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let duration = DurationArgument.read(length), duration > .zero else {
            throw CommandError(.usage, "\"\(length)\" is no length of time such as 12h or 30d")
        }
        guard let reason = acting.reason else {
            throw CommandError(.usage, "a suspension needs a --reason: somebody will ask")
        }
        let until = Date() + TimeInterval(duration.components.seconds)
        try context.confirm("Suspend \(term) until \(Wording.moment(until))?", dryOrYes(writing))
        return try await context.act(
            on: try lookup.term(term),
            acting,
            isDry: writing.dryRun,
            done: "suspended until \(Wording.moment(until))"
        ) { desk, user, connection in
            try await desk.suspend(user, until: until, reason: reason, on: connection)
        }
    }

    /// A dry run asks nothing.
    private func dryOrYes(_ options: WriteOptions) -> WriteOptions {
        var options = options
        if options.dryRun { options.yes = true }
        return options
    }
}

/// Lets a suspended account sign in again.
struct UserRestoreCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Let a suspended account sign in again.",
        discussion: """
            EXAMPLES
              accountctl user restore anna@example.com --reason "mistaken identity, ticket 4712"
            """
    )

    @Argument(help: "Any term that user find takes.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason
        return try await context.act(
            on: try lookup.term(term),
            acting,
            isDry: writing.dryRun,
            done: "may sign in again"
        ) {
            desk,
            user,
            connection in
            try await desk.restore(user, reason: reason, on: connection)
        }
    }
}

/// Puts a legal hold on an account.
struct UserHoldCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a legal hold on an account: it is not erased until released.",
        discussion: """
            EXAMPLES
              accountctl user hold anna@example.com --reason "court order 12/2026"
            """
    )

    @Argument(help: "Any term that user find takes.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let reason = acting.reason else { throw CommandError(.usage, "a hold needs a --reason") }
        let holding = try context.desk(acting)
        return try await context.act(on: try lookup.term(term), acting, isDry: writing.dryRun, done: "held") {
            _,
            user,
            connection in
            try await holding.hold(user, reason: reason, on: connection) ? .done(sessions: 0) : .unknownUser
        }
    }
}

/// Releases the legal holds of an account.
struct UserReleaseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Release the legal holds of an account; an open deletion goes on.",
        discussion: """
            EXAMPLES
              accountctl user release anna@example.com --reason "order lifted"
            """
    )

    @Argument(help: "Any term that user find takes.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason
        let holding = try context.desk(acting)
        return try await context.act(on: try lookup.term(term), acting, isDry: writing.dryRun, done: "released") {
            _,
            user,
            connection in
            try await holding.release(user, reason: reason, on: connection) > 0 ? .done(sessions: 0) : .unchanged
        }
    }
}
