import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Lists accounts.
struct UserListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List accounts by id; a million rows stream in constant memory.",
        discussion: """
            Times are a date (2026-11-20), a moment (2026-11-20T12:00:00Z) or a duration back from now (30d). To
            continue where an earlier list ended, give its last id with --after.

            EXAMPLES
              accountctl user list --provider apple --relay --limit 20
              accountctl user list --idle-since 365d --count
              accountctl user list --signed-in-after 7d --deletion-state grace
              accountctl user list --csv > accounts.csv
              accountctl user list --tsv state | sort | uniq -c
              accountctl user list --format ndjson --json id,state
            """
    )

    private static let fields: [Field<AccountListing.Account>] = [
        Field("id", "Id") { .uuid($0.id) },
        Field("email", "E-mail") { .personal($0.email, .email) },
        Field("state", "State", isWhole: true, emphasis: { $0.state == .active ? .none : .caution }) {
            .text($0.state.word)
        },
        Field("providers", "Providers") { .list($0.providers.map { .text($0) }) },
        Field("created_at", "Created") { .date($0.createdAt) },
        Field("last_sign_in_at", "Last sign-in") { .date($0.lastSignInAt) },
        Field("is_anonymous", nil) { .bool($0.isAnonymous) },
        Field("banned_until", nil) { .date($0.ban?.until) },
        Field("deleted_at", nil) { .date($0.deletedAt) },
        Field("held", "Held", emphasis: { $0.isHeld ? .caution : .none }) { .bool($0.isHeld) },
    ]

    private static let countField = "count"

    static let outputFields = fields.map(\.name) + [countField]

    var selectableFields: [String] { count ? [Self.countField] : Self.fields.map(\.name) }

    @Option(name: .long, help: ArgumentHelp("Only accounts created then or later.", valueName: "time"))
    var createdAfter: String?

    @Option(name: .long, help: ArgumentHelp("Only accounts created before then.", valueName: "time"))
    var createdBefore: String?

    @Option(name: .long, help: ArgumentHelp("Only accounts whose last sign-in was then or later.", valueName: "time"))
    var signedInAfter: String?

    @Option(name: .long, help: ArgumentHelp("Only accounts whose last sign-in was before then.", valueName: "time"))
    var signedInBefore: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Only accounts that have not signed in since then, or never.", valueName: "time")
    )
    var idleSince: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Only accounts with an identity at this provider, such as apple.", valueName: "name")
    )
    var provider: String?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts under a legal hold, or not."
    )
    var held: Bool?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts with one of Apple's relay addresses, or not."
    )
    var relay: Bool?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts that may not sign in, or those that may."
    )
    var banned: Bool?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts that signed in anonymously, or not."
    )
    var anonymous: Bool?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts that Supabase Auth soft-deleted, or not."
    )
    var softDeleted: Bool?

    @Flag(
        name: .long,
        inversion: .prefixedNo,
        exclusivity: .exclusive,
        help: "Only accounts with an open deletion request, or without."
    )
    var deletion: Bool?

    @Option(name: .long, help: "Only accounts with an open deletion request in this state; may be repeated.")
    var deletionState: [OpenDeletionState] = []

    @Option(name: .long, help: ArgumentHelp("How many accounts to list at most. Default: all.", valueName: "count"))
    var limit: Int?

    @Option(name: .long, help: ArgumentHelp("Continue after this id.", valueName: "id"))
    var after: String?

    @Flag(name: .long, help: "Count instead of listing; reads the whole table.")
    var count = false

    @OptionGroup
    var reveal: RevealOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
        if count, limit != nil || after != nil {
            throw ValidationError("--count counts all accounts of the filter: leave --limit and --after out")
        }
        if deletion == false, !deletionState.isEmpty {
            throw ValidationError("--no-deletion and --deletion-state cannot be combined")
        }
        if let provider, provider.allSatisfy(\.isWhitespace) {
            throw ValidationError("--provider is empty: name a provider, such as apple")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let listing = AccountListing(try filter(now: context.now()))
        let after = try after.map { text in
            guard let id = LookupTerm(text, as: .userID)?.userID else {
                throw CommandError(.usage, "--after: \(SafeText.quoted(text)) is not a user id")
            }
            return id
        }
        if count {
            let number = try await context.withConnection { connection in try listing.count(on: connection) }
            try context.output.format.isForPrograms
                ? context.output.show(Sheet(facts: [.init(Self.countField, "Accounts", .integer(number))]))
                : context.output.document(String(number))
            return .ok
        }
        let limit = limit
        let output = reveal.output(in: context)
        let actor = try reveal.actor(acting, in: context)
        let reason = acting.reason
        try await context.withConnection { connection in
            if let actor { try AccountDesk(actor).recordReveal("user.reveal_list", reason: reason, on: connection) }
            try output.paged { output in
                var rows = output.startList(Self.fields)
                try listing.forEach(limit: limit, after: after, on: connection) { try rows.append($0) }
                try rows.finish(whenEmpty: "No account.")
            }
        }
        return .ok
    }

    private func filter(now: Date) throws -> AccountListing.Filter {
        func moment(_ text: String?, _ option: String) throws -> Date? {
            try text.map { try DurationArgument.moment($0, option, now: now) }
        }
        var filter = AccountListing.Filter()
        filter.createdAfter = try moment(createdAfter, "--created-after")
        filter.createdBefore = try moment(createdBefore, "--created-before")
        filter.signedInAfter = try moment(signedInAfter, "--signed-in-after")
        filter.signedInBefore = try moment(signedInBefore, "--signed-in-before")
        filter.idleSince = try moment(idleSince, "--idle-since")
        // Supabase stores the names of providers in lower case.
        filter.provider = provider?.lowercased()
        filter.isRelay = relay
        filter.isBanned = banned
        filter.isAnonymous = anonymous
        filter.isSoftDeleted = softDeleted
        filter.isBeingDeleted = deletion
        filter.isHeld = held
        filter.deletionStates = Set(deletionState.map(\.state))
        return filter
    }
}
