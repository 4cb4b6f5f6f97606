import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Lists deletion requests.
struct DeletionListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List deletion requests, the nearest legal deadline first.",
        discussion: """
            Requests that have ended follow the open ones, the last one first.

            End of grace period is the moment from which a deletion can become irreversible. The column paused shows
            requests that are paused individually, in any state. A pause of every deletion, or of the queue of
            deletions, is reported on standard error, by deletion show and by doctor.

            With --all: --apple pending lists requests whose credential Apple has not revoked yet, --apple not_revoked
            those whose credential will not be revoked any more, and --apple grant_unknown those for which Apple may
            have issued a credential in an answer that was lost, so that nobody can revoke it. The app reads not_revoked
            for these, too.

            EXAMPLES
              accountctl deletion list
              accountctl deletion list --paused
              accountctl deletion list --state blocked --state residue
              accountctl deletion list --json id,state,situation,legal_deadline
              accountctl deletion list --limit 100000 --tsv state | sort | uniq -c
            """
    )

    /// The columns for some requests.
    ///
    /// Tables, which have little room, leave out those without information: a grace period in which no request is,
    /// brakes that no open one has, a proof that is the usual one, outcomes at Apple that were not asked for.
    private static func fields(
        for requests: [DeletionSummary],
        withApple: Bool,
        naming: CommandNaming
    ) -> [Field<DeletionSummary>] {
        let withGrace = requests.contains { $0.state == .requested || $0.state == .grace }
        let withBrakes = requests.contains { $0.finishedAt == nil && ($0.isHeld || $0.isPaused) }
        let withProof = requests.contains { $0.proof != nil && $0.proof != .searched }
        let withEnd = requests.contains { $0.finishedAt != nil }
        // What ends a situation is a long sentence: a few words of it would take the room of the cause beside it.
        let leastOfSentence = requests.contains { $0.situation != nil } ? 40 : 0
        return [
            Field("id", "Id") { .uuid($0.id) },
            Field("user_id", "User") { .uuid($0.user) },
            Field("state", "State", emphasis: { $0.state.emphasis }) { .text($0.state.rawValue) },
            Field("proof", withProof ? "Proof" : nil, emphasis: { $0.proof?.emphasis ?? .none }) {
                .text($0.proof?.rawValue)
            },
            Field("run_after", withGrace ? "End of grace period" : nil) { .date($0.runAfter) },
            Field("legal_deadline", "Deadline") { .date($0.legalDeadline) },
            Field("situation", "Why") { .text($0.situation?.code.rawValue) },
            Field("held", withBrakes ? "Held" : nil, emphasis: { $0.isHeld ? .caution : .none }) { .bool($0.isHeld) },
            Field("paused", withBrakes ? "Paused" : nil, emphasis: { $0.isPaused ? .caution : .none }) {
                .bool($0.isPaused)
            },
            Field("step", "Step") { .text($0.step?.rawValue) },
            Field("ended_by", "Ends by", least: leastOfSentence) { .text($0.endedBy(naming)) },
            Field("requested_at", nil) { .date($0.requestedAt) },
            Field("finished_at", withEnd ? "Ended" : nil) { .date($0.finishedAt) },
            Field("origin", nil) { .text($0.origin) },
            Field("apple", withApple ? "Apple" : nil) { .text($0.apple?.rawValue) },
            Field("failures", nil) { .integer($0.failures) },
        ]
    }

    private static let limits = 1...100_000

    static let outputFields = fields(for: [], withApple: false, naming: .short).map(\.name)
    static let isSequential = true

    @Option(name: .long, help: "Only requests in this state; may be repeated. Default: all open requests.")
    var state: [DeletionState] = []

    @Flag(name: .long, help: "Only requests that are paused individually.")
    var paused = false

    @Option(name: .long, help: "Only requests with this outcome at Apple; may be repeated.")
    var apple: [AppleOutcome] = []

    @Flag(name: .long, help: "Also list requests that have ended.")
    var all = false

    @Option(name: .long, help: ArgumentHelp("How many requests to show at most.", valueName: "count"))
    var limit = 200

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        try Self.limits.check(limit)
        if all, !state.isEmpty { throw ValidationError("--all and --state cannot be combined") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let open = DeletionState.allCases.filter { all || !$0.isFinal }
        let states = Set(state.isEmpty ? open : state)
        let (paused, outcomes, limit) = (paused, apple.map(\.outcome), limit)
        let (requests, brakes) = try await context.withConnection { connection in
            (
                try DeletionSummary.list(
                    states,
                    pausedOnly: paused,
                    apple: outcomes,
                    limit: limit + 1,
                    on: connection
                ),
                try StandingBrakes.read(on: connection)
            )
        }
        if requests.contains(where: { $0.finishedAt == nil }) {
            for words in brakes.words(of: nil) { context.messages.warning(words) }
        }
        var fields = Self.fields(
            for: requests,
            withApple: !outcomes.isEmpty,
            naming: context.output.format.isForPrograms ? .typed(in: context) : .short
        )
        if !context.output.format.isForPrograms {
            // Two ids fill a line of 80 columns, so the account's id comes last, after columns of more interest such as
            // the state.
            if let user = fields.firstIndex(where: { $0.name == "user_id" }) { fields.append(fields.remove(at: user)) }
        }
        let isFiltered = paused || !state.isEmpty || !outcomes.isEmpty
        let none = all ? "No deletion requests." : "No open deletion requests; --all also lists those that have ended."
        try context.list(
            requests,
            fields,
            limit: limit,
            of: Self.limits,
            whenEmpty: isFiltered ? "No such deletion requests." : none
        )
        return .ok
    }
}

extension DeletionState: ExpressibleByArgument {}

extension ErasureProof {
    var emphasis: Emphasis { self == .searched ? .good : .caution }
}

extension DeletionState {
    var emphasis: Emphasis {
        switch self {
        case .verified: .good
        case .blocked, .residue: .bad
        case .held, .waitingForApple: .caution
        case .requested, .grace, .running, .settling, .cancelled: .none
        }
    }
}
