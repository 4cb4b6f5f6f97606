import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Lists events.
struct AppleEventsListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List events, the newest first.",
        discussion: """
            KINDS
              of Apple    consent-revoked, account-deleted, email-enabled, email-disabled,
                          and other.TYPE for an undocumented type
              of devices  state_authorized, state_revoked, state_not_found, state_transferred
              of checks   grant_gone

            OUTCOMES
            \(EventOutcomes.table)

            EXAMPLES
              accountctl apple events list --outcome waiting
              accountctl apple events list --kind account-deleted --json id,user_id,outcome
            """
    )

    private static let limits = 1...10_000

    static let outputFields = AppleEventsCommand.fields.map(\.name)
    static let isSequential = true

    @Option(
        name: .long,
        help: ArgumentHelp("Only events of this account: any term that user find accepts.", valueName: "term")
    )
    var user: String?

    @Option(name: .long, help: ArgumentHelp("Only events of this kind; may be repeated.", valueName: "kind"))
    var kind: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Only events with this outcome; may be repeated.", valueName: "outcome"),
        completion: .list(EventOutcomes.names)
    )
    var outcome: [String] = []

    @Option(name: .long, help: ArgumentHelp("How many events to show at most.", valueName: "count"))
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        try Self.limits.check(limit)
        for name in kind where !CredentialBooks.isKind(name) {
            throw Self.unknown("kind", name, among: CredentialBooks.kinds)
        }
        for name in outcome where !EventOutcomes.names.contains(name) {
            throw Self.unknown("outcome", name, among: EventOutcomes.names)
        }
    }

    private static func unknown(_ what: String, _ name: String, among known: [String]) -> ValidationError {
        let near = NearestName.question(of: name, among: known)
        return ValidationError("there is no \(what) \"\(SafeText.line(name))\"" + near)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        var filter = CredentialBooks.EventFilter()
        filter.kinds = kind
        filter.outcomes = outcome
        filter.limit = limit + 1
        let account = try user.map { try context.subject(typed: $0) }
        let rows = try await context.withConnection { [filter] connection in
            var filter = filter
            filter.user = try account?(connection)
            return try CredentialBooks.events(filter, on: connection)
        }
        try context.list(
            rows,
            AppleEventsCommand.fields,
            limit: limit,
            of: Self.limits,
            whenEmpty: "No events."
        )
        return .ok
    }
}
