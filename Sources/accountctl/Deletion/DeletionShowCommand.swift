import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Shows one deletion request.
struct DeletionShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one deletion request: where it stands, why, and what ends that.",
        discussion: """
            Of a verified erasure, proof says what that rests on: searched (every identifier, and none is left), user_id_only (the
            others were not known any more), accepted (some are left in columns that may keep them) or user_id_only_accepted (both).
            without_apple says that an operator had it go on without Apple (deletion proceed --without-apple).

            EXIT CODES
              0 shown; 3 no such request; 5 residue; 6 blocked or held

            EXAMPLES
              accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let isSequential = true

    static let outputFields = [
        "id", "user_id", "state", "situation", "subject", "detail", "since", "ended_by", "paused", "held", "origin",
        "requested_at", "run_after", "locked_out_at", "settle_after", "legal_deadline", "finished_at", "proof",
        "apple", "without_apple", "failures", "receipt", "blockers", "findings", "accepted", "steps", "job",
    ]

    static let sectionFields = [
        "job.job_id", "job.job_state", "job.job_run_at", "job.job_attempt", "job.job_error",
        "job.job_error_at",
    ]

    @Argument(help: "A request id, the user id of its account, or a receipt's number.")
    var request: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let hashKey = try context.hashKey()
        let name = request
        let details = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: hashKey, on: connection)
            return try DeletionDetails.read(id, on: connection)
        }
        guard let details else { throw CommandError(.notFound, "the request has just gone") }
        try context.output.show(DeletionSheet(details: details, naming: .typed(in: context)).sheet)
        return ExitStatus(details.summary.state)
    }
}

extension ExitStatus {
    /// How a command ends that leaves, or shows, a request in a state.
    init(_ state: DeletionState) {
        self =
            switch state {
            case .residue: .residue
            case .blocked, .held: .blocked
            case .requested, .grace, .waitingForApple, .running, .settling, .verified, .cancelled: .ok
            }
    }
}

/// A deletion request as one screen.
struct DeletionSheet {
    let details: DeletionDetails
    let naming: CommandNaming
    /// Whether a dry run opened the request: then nothing has its id.
    var isForeseen = false

    var sheet: Sheet {
        let request = details.summary
        return Sheet([
            .init(
                .facts([
                    .init("id", "Request", .uuid(isForeseen ? nil : request.id)),
                    .init("user_id", "Account", .uuid(request.user)),
                    .init("state", "State", .text(request.state.rawValue), request.state.emphasis),
                    .init("situation", "Why", .text(request.situation?.code.rawValue)),
                    .init("subject", "About", .text(request.situation?.subject)),
                    .init("detail", "More", .text(request.situation?.detail)),
                    .init("since", "Since", .date(request.situationSince)),
                    .init("ended_by", "Ends by", .text(request.endedBy(naming))),
                    .paused(request.finishedAt == nil ? details.brakes : nil),
                    .init("held", "Legal hold", .bool(request.isHeld), request.isHeld ? .caution : .none),
                    .init("origin", "Asked by", .text(request.origin)),
                    .init("requested_at", "Requested", .date(request.requestedAt)),
                    .init("run_after", "End of grace", .date(request.runAfter)),
                    .init("locked_out_at", "Locked out", .date(request.lockedOutAt)),
                    .init("settle_after", "Last search after", .date(request.settleAfter)),
                    .init("legal_deadline", "Legal deadline", .date(request.legalDeadline)),
                    .init("finished_at", "Ended", .date(request.finishedAt)),
                    .init("proof", "Proof", .text(request.proof?.rawValue), request.proof?.emphasis ?? .none),
                    .init("apple", "Apple", .text(request.apple?.rawValue)),
                    .init(
                        "without_apple",
                        "Without Apple",
                        .bool(details.withoutApple),
                        details.withoutApple ? .caution : .none
                    ),
                    .init("failures", "Failures in a row", .integer(request.failures)),
                    .init("receipt", "Receipt", details.receipt.map { .integer($0) } ?? .null),
                ])
            ),
            .blockers(request.situation?.blockers ?? []),
            .init(
                "findings",
                title: "Left behind",
                .table(
                    [TableColumn("Column"), TableColumn("Identifiers"), TableColumn("Values", alignment: .right)],
                    rows: (request.situation?.findings ?? []).map {
                        [.text($0.column), .list($0.identifiers.map { .text($0.rawValue) }), .integer($0.count)]
                    },
                    names: ["column", "identifiers", "count"]
                )
            ),
            .init(
                "accepted",
                title: "May stay",
                .table(
                    [TableColumn("Column"), TableColumn("Reason"), TableColumn("By"), TableColumn("Since")],
                    rows: details.accepted.map {
                        [.text($0.name), .text($0.reason), .text($0.acceptedBy), .date($0.acceptedAt)]
                    },
                    names: ["column", "reason", "accepted_by", "accepted_at"]
                )
            ),
            .init(
                "steps",
                title: "Steps",
                .table(
                    [
                        TableColumn("Step"), TableColumn("Outcome"), TableColumn("Finished"),
                        TableColumn("Runs", alignment: .right), TableColumn("Facts"),
                    ],
                    rows: details.steps.map { step in
                        [
                            .text(step.step.rawValue), .text(step.outcome?.rawValue ?? (step.runs > 0 ? "begun" : nil)),
                            .date(step.finishedAt), .integer(step.runs),
                            .object(
                                step.facts.map { $0.shownCounts.merging($0.shownNames) { count, _ in count } } ?? [:]
                            ),
                        ]
                    },
                    names: ["step", "outcome", "finished_at", "runs", "facts"]
                )
            ),
            .init(
                "job",
                title: "Job",
                .facts([
                    .init("job_id", "Id", .integer(details.job?.id)),
                    .init("job_state", "State", .text(details.job?.state.rawValue)),
                    .init("job_run_at", "Runs at", .date(details.job?.runAt)),
                    .init("job_attempt", "Attempt", .integer(details.job?.attempt)),
                    .init("job_error", "Last failure", .text(details.job?.lastError)),
                    .init("job_error_at", "Failed at", .date(details.job?.lastErrorAt)),
                ])
            ),
        ])
    }
}
