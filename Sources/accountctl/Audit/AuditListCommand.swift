import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Lists entries of the operators' log.
struct AuditListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List what operators did, newest first.",
        discussion: """
            To find the lines of an erased account, give its user id: they are found by the keyed hash (keys.hash_file).
            An action is named for what it changes, not always as the command: user hold and user release are
            deletion.hold and deletion.release here, relay stream add is mail.add_stream, and apple vault rotate is
            apple.rotate_vault.

            EXAMPLES
              accountctl audit list --since 24h
              accountctl audit list --since 2026-10-01 --until 2026-11-01 --limit 100000 --csv
              accountctl audit list --action deletion. --json logged_at,operator,action,reason
              accountctl audit list --user 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let otherWords = ["log", "logs", "history"]

    private static let fields: [Field<OperatorLog.Entry>] = [
        Field("id", "Number", alignment: .right) { .integer($0.id) },
        Field("logged_at", "When") { .date($0.loggedAt) },
        Field("operator", "Who") { .text($0.operatorName) },
        Field("database_role", "Role") { .text($0.databaseRole) },
        Field("action", "What", isWhole: true) { .text($0.action) },
        Field("reason", "Why") { .text($0.reason) },
        Field("ticket", "Ticket") { .text($0.ticket) },
        Field("machine_user", nil) { .text($0.machineUser) },
        Field("subject", nil) { .text($0.subject?.hexadecimal) },
        Field("facts", nil) { .json($0.facts) },
        Field("has_subject", nil) { .bool($0.hasSubject) },
    ]

    private static let limits = 1...100_000

    static let outputFields = fields.map(\.name)
    static let isSequential = true

    @Option(
        name: .long,
        help: ArgumentHelp("Only acts on this account: any term that user find accepts.", valueName: "term")
    )
    var user: String?

    @Option(name: .long, help: ArgumentHelp("Only acts of this operator.", valueName: "name"))
    var by: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Only actions that begin with this, such as deletion.; may be repeated.", valueName: "name")
    )
    var action: [String] = []

    @Option(name: .long, help: ArgumentHelp("Only acts for this ticket.", valueName: "number"))
    var ticket: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only acts since then: a date, a moment or a duration back from now (7d).",
            valueName: "time"
        )
    )
    var since: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only acts before then: a date, a moment or a duration back from now (7d).",
            valueName: "time"
        )
    )
    var until: String?

    @Option(name: .long, help: ArgumentHelp("How many lines to list at most.", valueName: "count"))
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        try Self.limits.check(limit)
        let strange = action.joined().lowercased().filter { !($0.isASCII && $0.isLetter) && !"._".contains($0) }
        if !strange.isEmpty {
            throw ValidationError(
                "--action contains \(SafeText.quoted(strange)), which no action contains: give the start of a name, "
                    + "such as deletion."
            )
        }
    }

    /// What is said of an empty list: with a filter, something may still have been done.
    private var emptyNote: String {
        let isFiltered = [user, by, ticket, since, until].contains { $0 != nil } || !action.isEmpty
        guard isFiltered else { return "Nothing was done." }
        return "No such act." + (action.isEmpty ? "" : " Actions have names such as deletion.hold or user.suspend.")
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        var filter = OperatorLog.Filter()
        filter.operatorName = by
        filter.actions = action.map { $0.lowercased() }
        filter.ticket = ticket
        filter.since = try since.map { try DurationArgument.moment($0, "--since", now: context.now()) }
        filter.until = try until.map { try DurationArgument.moment($0, "--until", now: context.now()) }
        filter.limit = limit + 1
        let term = try user.map { try LookupTerm.typed($0, as: nil) }
        let hashKey = try term == nil ? nil : context.neededHashKey()
        let entries = try await context.withConnection { [filter] connection in
            var filter = filter
            if let term, let hashKey {
                let id = try context.subject(term, in: AccountDirectory(hashKey: hashKey), on: connection)
                filter.subject = try SubjectHash.checked(id, key: hashKey, on: connection)
                if let others = try OtherHashKeys(beside: hashKey, on: connection) {
                    context.messages.warning(others.gap)
                }
            }
            return try OperatorLog.entries(filter, on: connection)
        }
        var fields = Self.fields
        // The role is nearly always the same: with little room, people see who did what, and why.
        if !context.output.format.isForPrograms, let role = fields.firstIndex(where: { $0.name == "database_role" }) {
            fields.append(fields.remove(at: role))
        }
        try context.list(entries, fields, limit: limit, of: Self.limits, whenEmpty: emptyNote)
        return .ok
    }
}
