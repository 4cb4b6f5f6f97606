import AccountLifecycle
import ArgumentParser
import Terminal

/// Counts relay addresses, or lists them.
struct RelayAddressesCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "addresses",
        abstract: "Count the accounts with a relay address, or list them.",
        discussion: """
            Whether an address belongs to the relay is known by Apple's own claim first and by its domain second.
            Whether it forwards is known only from Apple's events.

            EXAMPLES
              accountctl relay addresses
              accountctl relay addresses --list --forwarding off
            """
    )

    /// The columns are those of the list, so that programs see the same; people see only those that apply to counts.
    private static let countFields: [Field<RelayDirectory.Count>] = [
        Field("user_id", nil) { _ in .null },
        Field("address", nil) { _ in .null },
        Field("domain", "Domain") { .text($0.domain) },
        Field("known_by", "Known by") { .text($0.knownBy.rawValue) },
        Field("forwarding", "Forwarding") { .text($0.forwarding.rawValue) },
        Field("forwarding_changed_at", nil) { _ in .null },
        Field("accounts", "Accounts", alignment: .right) { .integer($0.accounts) },
    ]

    private static let entryFields: [Field<RelayDirectory.Entry>] = [
        Field("user_id", "User") { .uuid($0.userID) },
        Field("address", "Address") { .personal($0.address, .email) },
        Field("domain", nil) { _ in .null },
        Field("known_by", "Known by") { .text($0.knownBy.rawValue) },
        Field("forwarding", "Forwarding") { .text($0.forwarding.rawValue) },
        Field("forwarding_changed_at", "Since") { .date($0.forwardingChangedAt) },
        Field("accounts", nil) { _ in .null },
    ]

    private static let limits = 1...100_000

    static let outputFields = countFields.map(\.name)

    @OptionGroup
    var reveal: RevealOptions

    @OptionGroup
    var acting: ActingOptions

    @Flag(name: .long, help: "List the accounts instead of counting them.")
    var list = false

    @Option(
        name: .long,
        help: ArgumentHelp("Only accounts whose forwarding is on, off or unknown.", valueName: "state")
    )
    var forwarding: RelayDirectory.Forwarding?

    @Option(name: .long, help: ArgumentHelp("How many accounts to list at most.", valueName: "count"))
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        try Self.limits.check(limit)
        guard list || forwarding == nil else { throw ValidationError("--forwarding requires --list") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard list else {
            let counts = try await context.withConnection { connection in
                try RelayDirectory.counts(on: connection)
            }
            try context.output.list(counts, Self.countFields, whenEmpty: "No account has a relay address.")
            return .ok
        }
        let state = forwarding
        let count = limit + 1
        let actor = try reveal.actor(acting, in: context)
        let reason = acting.reason
        let entries = try await context.withConnection { connection in
            if let actor { try AccountDesk(actor).recordReveal("relay.reveal_list", reason: reason, on: connection) }
            return try RelayDirectory.entries(forwarding: state, limit: count, on: connection)
        }
        let output = reveal.output(in: context)
        try context.list(
            entries,
            Self.entryFields,
            limit: limit,
            of: Self.limits,
            whenEmpty: "No account has such an address.",
            to: output
        )
        return .ok
    }
}

extension RelayDirectory.Forwarding: ExpressibleByArgument {}
