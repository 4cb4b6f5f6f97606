import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Shows one deletion request.
struct DeletionShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one deletion request: its state, the reason, and what ends the state.",
        discussion: """
            For a verified erasure, proof says what that rests on: searched (every identifier, and none is left),
            user_id_only (no other identifier was known any more), accepted (some are left in columns that may keep
            them, or files stayed: the account's files in a kept bucket, or an ownerless file that the profile named),
            or user_id_only_accepted (no other identifier was known, and some are left in such columns). without_apple
            says that an operator let it continue without Apple (deletion proceed --without-apple).

            With --reveal it also shows the identifiers that are searched for, so that in the state residue you can find
            the rows that contain them. It needs the key in keys.sealing_file.

            EXIT CODES
              0 shown; 3 no such request; 5 residue; 6 blocked or held

            EXAMPLES
              accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
              accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --reveal --reason "ticket 4711"
            """
    )

    static let otherWords = ["status", "info", "get", "inspect"]

    static let isSequential = true

    static let outputFields = [
        "id", "user_id", "state", "situation", "subject", "detail", "since", "ended_by", "paused", "held", "origin",
        "requested_at", "run_after", "locked_out_at", "settle_after", "legal_deadline", "finished_at", "proof",
        "apple", "without_apple", "failures", "receipt", "blockers", "findings", "identifiers", "accepted", "steps",
        "job",
    ]

    static let sectionFields = [
        "job.job_id", "job.job_state", "job.job_run_at", "job.job_attempt", "job.job_error",
        "job.job_error_at",
    ]

    @Argument(help: "A request id, the user id or e-mail address of its account, or a receipt's number.")
    var request: String

    @OptionGroup
    var reveal: RevealOptions
    @OptionGroup
    var acting: ActingOptions
    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try reveal.actor(acting, in: context)
        let keys = try actor.map { _ in try context.keyRing() }
        let hashKey = try actor?.hashKey ?? context.hashKey()
        let (name, reason) = (request, acting.reason)
        let (details, identifiers) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: hashKey, on: connection)
            var opened: [Identifier] = []
            // Records the access before showing anything, so that no identifier is shown without a record.
            if let actor, let keys {
                let desk = DeletionDesk(actor)
                opened = try desk.revealIdentifiers(of: id, with: keys, reason: reason, on: connection)
            }
            return (try DeletionDetails.read(id, on: connection), opened)
        }
        guard let details else { throw CommandError.requestGone }
        if details.job == nil, details.summary.finishedAt == nil {
            context.messages.note("no job is carrying it out at the moment; a live worker adds one within a minute")
        }
        if actor != nil, identifiers.isEmpty {
            context.messages.note(
                "there are no sealed identifiers: no worker has begun, they were given up, or the request has ended"
            )
        }
        let sheet = DeletionSheet(details: details, naming: .typed(in: context), identifiers: identifiers).sheet
        try reveal.output(in: context).show(sheet)
        return ExitStatus(details.summary.state)
    }
}

extension ExitStatus {
    /// The exit status of a command that leaves or shows a request in a state.
    init(_ state: DeletionState) {
        self =
            switch state {
            case .residue: .residue
            case .blocked, .held: .blocked
            case .requested, .grace, .waitingForApple, .running, .settling, .verified, .cancelled: .ok
            }
    }
}
