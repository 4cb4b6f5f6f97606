import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Cancels a deletion.
struct DeletionCancelCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a deletion while nothing irreversible was begun.",
        discussion: """
            Once the account is locked out only an operator can; the lock-out is undone then. Sessions do not come back.

            EXIT CODES
              0 cancelled; 3 no such request; 6 too late, or it has ended

            EXAMPLES
              accountctl deletion cancel 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --reason "asked by mail"
            """
    )

    @Argument(help: "A request id, or the user id of its account.")
    var request: String

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let (name, reason, isDry) = (request, acting.reason, writing.dryRun)
        let (id, act) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: desk.hashKey, on: connection)
            return (id, isDry ? .done : try await desk.cancel(id, reason: reason, on: connection))
        }
        return try context.report(act, id, done: isDry ? "would be cancelled" : "cancelled")
    }
}

/// Has a deletion looked at again now.
struct DeletionRetryCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Look at a deletion again now, after its fault is gone.",
        discussion: """
            EXAMPLES
              accountctl deletion retry 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    @Argument(help: "A request id, or the user id of its account.")
    var request: String

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var writing: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let (name, isDry) = (request, writing.dryRun)
        let (id, act) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: desk.hashKey, on: connection)
            return (id, isDry ? .done : try await desk.retry(id, on: connection))
        }
        return try context.report(
            act,
            id,
            done: isDry ? "would be tried again" : "tried again as soon as a worker is free"
        )
    }
}

/// Has a deletion go on although something is missing for good.
struct DeletionProceedCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "proceed",
        abstract: "Go on with a deletion without Apple, or without its identifiers.",
        discussion: """
            Without Apple the credential is not revoked in the run; it is tried again apart from it. Without identifiers, when
            the key they are sealed with is lost, only the user id is searched for, and the receipt says so. The request's id has to
            be typed, or given with --confirm.

            EXAMPLES
              accountctl deletion proceed 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --without-apple
            """
    )

    @Argument(help: "A request id, or the user id of its account.")
    var request: String

    @Flag(name: .long, help: "Do not wait for Apple any longer.")
    var withoutApple = false

    @Flag(name: .long, help: "The key of the identifiers is lost: search for the user id alone.")
    var withoutIdentifiers = false

    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and do nothing.")
    var dryRun = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if !withoutApple, !withoutIdentifiers {
            throw ValidationError("say what to go on without: --without-apple or --without-identifiers")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        let name = request
        let id = try await context.withConnection { try context.request(name, hashKey: desk.hashKey, on: $0) }
        if dryRun { return try context.report(.done, id, done: "would go on") }
        let text = id.uuidString.lowercased()
        try context.confirmIrreversible(
            "Go on with the deletion \(text) without what is missing?",
            id: text,
            confirmation
        )
        let (apple, identifiers, reason) = (withoutApple, withoutIdentifiers, acting.reason)
        let act = try await context.withConnection { connection in
            try await desk.proceed(
                id,
                withoutApple: apple,
                withoutIdentifiers: identifiers,
                reason: reason,
                on: connection
            )
        }
        return try context.report(act, id, done: "goes on")
    }
}

/// Accepts that a column keeps identifiers.
struct DeletionAcceptCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept that a column may keep identifiers of erased accounts.",
        discussion: """
            For what the law has you keep. It holds for every deletion from now on, and each receipt names the column. The
            column has to be typed, or given with --confirm.

            EXAMPLES
              accountctl deletion accept public.invoices.buyer --reason "kept ten years, HGB 257"
            """
    )

    @Argument(help: "schema.table.column, as deletion show names it.")
    var column: String

    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and do nothing.")
    var dryRun = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if acting.reason?.isEmpty ?? true { throw ValidationError("--reason is needed: receipts will name the column") }
        if column.split(separator: ".").count < 3 { throw ValidationError("a column is named schema.table.column") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let desk = try context.desk(acting)
        if dryRun {
            context.messages.note("would accept \(column)")
            return .ok
        }
        try context.confirmIrreversible("Let \(column) keep identifiers of erased accounts?", id: column, confirmation)
        let (name, reason) = (column, acting.reason ?? "")
        let waiting = try await context.withConnection { try await desk.accept(name, reason: reason, on: $0) }
        context.messages.note("accepted; \(Wording.count(waiting, "request")) looked at again")
        return .ok
    }
}
