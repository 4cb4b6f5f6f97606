import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// What Apple, devices and our own checks told.
struct AppleEventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "List, show and replay what Apple, devices and checks told about credentials.",
        subcommands: [AppleEventsListCommand.self, AppleEventsShowCommand.self, AppleEventsReplayCommand.self],
        aliases: ["event"]
    )

    static let fields: [Field<CredentialBooks.EventRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("source", "From") { .text($0.source) },
        Field("kind", "Event") { .text($0.kind) },
        Field("outcome", "Outcome", emphasis: { $0.outcome == nil ? .caution : .none }) {
            .text($0.outcome ?? EventOutcomes.waiting)
        },
        Field("user_id", "User") { .uuid($0.user) },
        Field("client_id", nil, detail: "Client id") { .text($0.clientID) },
        Field("happened_at", "Happened") { .date($0.happenedAt) },
        Field("received_at", nil, detail: "Received") { .date($0.receivedAt) },
        Field("handled_at", "Handled") { .date($0.handledAt) },
    ]
}

/// Lists events.
struct AppleEventsListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List events, the newest first.",
        discussion: """
            OUTCOMES
            \(EventOutcomes.table)

            EXAMPLES
              accountctl apple events list --outcome waiting
              accountctl apple events list --kind account-deleted --json id,user_id,outcome
            """
    )

    private static let limits = 1...10_000

    static let outputFields = AppleEventsCommand.fields.map(\.name)

    @Option(name: .long, help: ArgumentHelp("Of this account only.", valueName: "user id"))
    var user: UserIDArgument?

    @Option(name: .long, help: ArgumentHelp("Of this kind only.", valueName: "kind"))
    var kind: String?

    @Option(name: .long, help: ArgumentHelp("With this outcome only.", valueName: "outcome"))
    var outcome: String?

    @Option(name: .long, help: "The most events shown.")
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        try Self.limits.check(limit)
        if let outcome, !EventOutcomes.names.contains(outcome) {
            let near = NearestName.of(outcome, among: EventOutcomes.names).map { "; did you mean \($0)?" } ?? ""
            throw ValidationError("there is no outcome \"\(SafeText.line(outcome))\"" + near)
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        var filter = CredentialBooks.EventFilter()
        filter.user = user?.id
        filter.kind = kind
        filter.outcome = outcome
        filter.limit = limit + 1
        let rows = try await context.withConnection { [filter] connection in
            try CredentialBooks.events(filter, on: connection)
        }
        try context.list(
            rows,
            AppleEventsCommand.fields,
            limit: limit,
            of: Self.limits,
            whenEmpty: "There is no such event."
        )
        return .ok
    }
}

/// Shows one event.
struct AppleEventsShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event.",
        discussion: """
            EXIT CODES
              0 shown; 3 there is no such event

            EXAMPLES
              accountctl apple events show 42
            """
    )

    static let outputFields = AppleEventsCommand.fields.map(\.name)

    @Argument(help: "The id that list shows.")
    var id: Int64

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let found = try await context.withConnection { [id] connection in
            try CredentialBooks.event(id, on: connection)
        }
        guard let found else { throw CommandError(.notFound, "there is no event \(id)") }
        try context.output.show(Sheet([.init(.facts(Sheet.facts(of: AppleEventsCommand.fields, row: found)))]))
        return .ok
    }
}

/// Has an event handled again.
struct AppleEventsReplayCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Have an event handled again, under the rules and the policy as they are now.",
        discussion: """
            A stale event stays stale: nobody who came back is signed out by a replay.

            EXIT CODES
              0 enqueued; 3 there is no such event; 6 it cannot be replayed

            EXAMPLES
              accountctl apple events replay 42
            """
    )

    @Argument(help: "The id that list shows.")
    var id: Int64

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let signature = try context.signature(acting)
        let replay = try await context.withConnection { [id] connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                let replay = try await CredentialBooks.replay(id, on: connection)
                if case .enqueued = replay {
                    try signature.log("apple.replay_event", facts: ["event": "\(id)"], on: connection)
                }
                return replay
            }
        }
        switch replay {
        case .enqueued:
            let done = write.dryRun ? "would be handled again" : "is handled again by the next free worker"
            context.messages.note("Event \(id) \(done).")
            return .ok
        case .unknown: throw CommandError(.notFound, "there is no event \(id)")
        case .unknownAccount: throw CommandError(.blocked, "event \(id) is about no account of this database")
        case .notKept:
            throw CommandError(.blocked, "event \(id) is about an address, which is not kept with the event")
        }
    }
}
