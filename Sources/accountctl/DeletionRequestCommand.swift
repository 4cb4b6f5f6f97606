import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks for the deletion of one account.
struct DeletionRequestCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Ask for the deletion of one account.",
        discussion: """
            The account works, and the deletion can be cancelled, until the grace period ends; afterwards a worker erases it.
            Asked again, the open request is found. The user id has to be typed, or given with --confirm.

            EXIT CODES
              0 requested, or there was an open request; 2 declined; 3 no such account

            EXAMPLES
              accountctl deletion request anna@example.com --reason "asked by mail"
              accountctl deletion request 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --confirm=8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f
              accountctl deletion request anna@example.com --dry-run
            """
    )

    static let jsonFields = ["request", "user_id", "outcome"]

    @Argument(help: "A user id, e-mail address, phone number, Apple sub or username.")
    var user: String

    @Option(name: .long, help: "Seconds in which it can be cancelled. Default: the setting deletion.grace.")
    var graceSeconds: Int?

    @Flag(name: [.customShort("n"), .long], help: "Show what would be done, and do nothing.")
    var dryRun = false

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if let graceSeconds, !(0...2_592_000).contains(graceSeconds) {
            throw ValidationError("--grace-seconds must lie between 0 and 2592000 (30 days)")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let term = try lookup.term(user)
        let desk = try context.desk(acting)
        let directory = AccountDirectory(hashKey: desk.hashKey)
        let account = try await context.withConnection { try context.oneAccount(term, in: directory, on: $0) }
        let id = account.id.uuidString.lowercased()
        if dryRun {
            try context.output.show(sheet(nil, id, "would_be_requested"))
            return .ok
        }
        try context.confirmIrreversible("Delete the account \(id) for good?", id: id, confirmation)
        let grace = graceSeconds.map { Duration.seconds($0) }
        let opening = try await context.withConnection { connection in
            try await desk.request(account.id, reason: acting.reason, grace: grace, on: connection)
        }
        switch opening {
        case .opened(let request):
            context.messages.note(
                "requested; cancel with: accountctl deletion cancel \(request.uuidString.lowercased())"
            )
            try context.output.show(sheet(request, id, "requested"))
        case .found(let request):
            context.messages.note("there was an open request already")
            try context.output.show(sheet(request, id, "found"))
        case .unknownUser:
            throw CommandError(.notFound, "the account has just gone")
        }
        return .ok
    }

    private func sheet(_ request: UUID?, _ user: String, _ outcome: String) -> Sheet {
        Sheet([
            .init(
                .facts([
                    .init("outcome", "Outcome", .text(outcome)), .init("request", "Request", .uuid(request)),
                    .init("user_id", "User id", .text(user)),
                ])
            )
        ])
    }
}
