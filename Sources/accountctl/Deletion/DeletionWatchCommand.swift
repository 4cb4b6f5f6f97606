import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Follows a deletion to its end.
struct DeletionWatchCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a deletion, step by step, to its end.",
        discussion: """
            Prints one line for each change, in JSON one object: a step with its outcome, or the request with its state
            and the number of steps done. Continues through the grace period, holds and retries, and ends when the
            deletion has ended or somebody has to act. A lost connection is opened again.

            EXIT CODES
              0 verified; 3 no such request; 5 residue; 6 blocked, or cancelled

            EXAMPLES
              accountctl deletion watch 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
              accountctl deletion watch 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --format ndjson
            """
    )

    static let outputFields = DeletionWatch.fields.map(\.name)

    @Argument(help: "A request id, the user id or e-mail address of its account, or a receipt's number.")
    var request: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let hashKey = try context.hashKey()
        let name = request
        let id = try await context.withConnection { try context.request(name, hashKey: hashKey, on: $0) }
        return try await context.follow {
            DeletionWatch(id, context.output.startGrowingList(DeletionWatch.fields), context.messages)
        }
    }
}

/// Reports how a deletion has changed since the last poll.
struct DeletionWatch: Watch, Sendable {
    /// A change of the state or of a step, shown as one line.
    struct Change: Sendable {
        let at: Date
        /// The new state; nil for a step, which may have changed while the request was in an earlier state.
        let state: DeletionState?
        /// The step that changed; nil for a change of the state.
        let step: DeletionStep?
        let outcome: String?
        /// How many steps are done; nil for a change of a step.
        let done: Int?
        let receipt: Int64?
    }

    static let fields: [Field<Change>] = [
        Field("at", "At") { .date($0.at) },
        Field(
            "state",
            "State",
            width: DisplayWidth.ofWidest(DeletionState.allCases),
            emphasis: { $0.state?.emphasis ?? Emphasis.none }
        ) {
            .text($0.state?.rawValue)
        },
        Field("step", "Step", width: DisplayWidth.ofWidest(DeletionStep.allCases)) { .text($0.step?.rawValue) },
        Field("outcome", "Outcome") { .text($0.outcome) },
        Field("progress", "Done", alignment: .right) { change in
            .text(change.done.map { "\($0)/\(DeletionStep.allCases.count)" })
        },
        Field("receipt", nil) { .integer($0.receipt) },
    ]

    private let request: UUID
    private var lines: ListWriter<Change>
    private let messages: Messages
    private var known: DeletionDetails?

    init(_ request: UUID, _ lines: ListWriter<Change>, _ messages: Messages) {
        self.request = request
        self.lines = lines
        self.messages = messages
    }

    mutating func look(on connection: isolated Connection) throws -> ExitStatus? {
        guard let now = try DeletionDetails.read(request, on: connection) else {
            throw CommandError.requestGone
        }
        let moment = try connection.one("select clock_timestamp()", as: Date.self)
        for change in Self.changes(from: known, to: now, at: moment) { try lines.append(change) }
        known = now
        guard let end = Self.end(now.summary.state), !Self.isLookedAt(now, at: moment) else { return nil }
        try lines.finish()
        if let next = Self.next(after: now) { messages.note(next) }
        return end
    }

    mutating func flush() throws {
        try lines.flush()
    }

    /// The changes between two polls.
    static func changes(from old: DeletionDetails?, to new: DeletionDetails, at moment: Date) -> [Change] {
        var changes = new.steps.filter { step in step.runs > 0 && old?.steps.contains(step) != true }.map { step in
            Change(
                at: step.finishedAt ?? step.startedAt ?? moment,
                state: nil,
                step: step.step,
                outcome: step.outcome?.rawValue ?? "begun",
                done: nil,
                receipt: nil
            )
        }
        if old?.summary.state != new.summary.state || old?.summary.situation != new.summary.situation {
            changes.append(
                Change(
                    at: new.summary.finishedAt ?? moment,
                    state: new.summary.state,
                    step: nil,
                    outcome: new.summary.situation?.code.rawValue,
                    done: new.steps.count { $0.finishedAt != nil },
                    receipt: new.receipt
                )
            )
        }
        return changes
    }

    /// The command to suggest when the watch ends; nil for none.
    private static func next(after request: DeletionDetails) -> String? {
        switch request.summary.state {
        case .verified: request.receipt.map { LookupAnswer.seeReceipt($0) }
        case .residue, .blocked: "What ends this: accountctl deletion show \(request.summary.id.text)"
        case .requested, .grace, .held, .waitingForApple, .running, .settling, .cancelled: nil
        }
    }

    /// Whether a worker is processing the request or is due to, as after a retry, so that a stop may be over soon.
    private static func isLookedAt(_ request: DeletionDetails, at moment: Date) -> Bool {
        guard let job = request.job else { return false }
        return switch job.state {
        case .running, .available: true
        case .scheduled: job.runAt <= moment
        case .parked, .completed, .cancelled, .discarded: false
        }
    }

    /// The exit status for a state in which the watch ends; nil if the request will leave the state by itself.
    static func end(_ state: DeletionState) -> ExitStatus? {
        switch state {
        case .verified: .ok
        case .residue: .residue
        case .blocked, .cancelled: .blocked
        case .requested, .grace, .held, .waitingForApple, .running, .settling: nil
        }
    }
}
