import AccountLifecycle
import JobQueue
import Postgres
import Terminal

/// A deletion request as one screen.
struct DeletionSheet {
    let details: DeletionDetails
    let naming: CommandNaming
    /// Whether a dry run opened the request, so that its id does not exist after the rollback.
    var isForeseen = false
    /// Whether the job is shown; not after a rehearsal or its dry run, which leave the job to workers.
    var showsJob = true
    /// The identifiers that are searched for, if the operator asked to see them.
    var identifiers: [Identifier] = []

    var sheet: Sheet {
        Sheet([facts, .blockers(details.summary.situation?.blockers ?? []), findings, sought, accepted, steps, job])
    }

    /// The state of the request, with its cause.
    private var facts: Sheet.Section {
        let request = details.summary
        return Sheet.Section(
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
                .init("origin", "Requested by", .text(request.origin)),
                .init("requested_at", "Requested", .date(request.requestedAt)),
                .init("run_after", "End of grace period", .date(request.runAfter)),
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
        )
    }

    /// The findings of the last search.
    private var findings: Sheet.Section {
        Sheet.Section(
            "findings",
            title: "Left behind",
            .table(
                [TableColumn("Column"), TableColumn("Identifiers"), TableColumn("Values", alignment: .right)],
                rows: (details.summary.situation?.findings ?? []).map {
                    [.text($0.column), .list($0.identifiers.map { .text($0.rawValue) }), .integer($0.count)]
                },
                names: ["column", "identifiers", "count"]
            )
        )
    }

    /// The identifiers that are searched for.
    private var sought: Sheet.Section {
        Sheet.Section(
            "identifiers",
            title: "Searched for",
            .table(
                [TableColumn("Identifier"), TableColumn("Value")],
                rows: identifiers.map { [.text($0.kind.rawValue), .personal($0.value, .identifier)] },
                names: ["identifier", "value"]
            )
        )
    }

    /// Columns whose findings an operator has accepted.
    private var accepted: Sheet.Section {
        Sheet.Section(
            "accepted",
            title: "May stay",
            .table(
                [TableColumn("Column"), TableColumn("Reason"), TableColumn("By"), TableColumn("Since")],
                rows: details.accepted.map {
                    [.text($0.name), .text($0.reason), .text($0.acceptedBy), .date($0.acceptedAt)]
                },
                names: ["column", "reason", "accepted_by", "accepted_at"]
            )
        )
    }

    /// The steps with their outcomes.
    private var steps: Sheet.Section {
        Sheet.Section(
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
        )
    }

    /// The job that drives the request.
    private var job: Sheet.Section {
        let job = showsJob ? details.job : nil
        return Sheet.Section(
            "job",
            title: "Job",
            .facts([
                .init("job_id", "Id", .integer(job?.id)),
                .init("job_state", "State", .text(job?.state.rawValue)),
                .init("job_run_at", "Runs at", .date(job?.runAt)),
                .init("job_attempt", "Attempt", .integer(job?.attempt)),
                .init("job_error", "Last failure", .text(job?.lastError)),
                .init("job_error_at", "Failed at", .date(job?.lastErrorAt)),
            ])
        )
    }
}
