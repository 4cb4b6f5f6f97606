import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Requests the deletion of one account, or of many.
struct DeletionRequestCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Request the deletion of one account, or of every account in a list.",
        discussion: """
            Until the grace period ends, the account works and the deletion can be cancelled; afterwards a worker erases
            the account. If there is an open request already, that one is returned. The user id has to be typed, or
            given with --confirm.

            With --file, the whole list is read first, and every bad line is reported before anything is done. The
            number of its ids has to be typed, or given with --confirm. The result for each id is added to the result
            file, which belongs to this database alone. The result for an id without an account is found while its
            erasure is in progress, erased once that has ended, and unknown_user otherwise.

            If the database goes away during a run, the run keeps trying for some minutes. If a run ends early, for
            whatever reason, the same command line continues with what is not done. It looks again for ids that had no
            account, and for those whose request in the result file is not in the database, as after a restore. It skips
            ids whose request was cancelled since, with a warning, since the person may have cancelled; another --result
            requests them again. A run that was killed or lost its connection may report as found what it had requested
            itself: look at the requests whose origin is operator and whose requested_at is within the run.

            To take back a list that was a mistake, see deletion cancel --help.

            EXIT CODES
              0 requested, or there was an open request, or erased before (in a list); 1 some failed; 2 declined; 3 no
              such account; 75 the database went away

            EXAMPLES
              accountctl deletion request anna@example.com --reason "asked by mail"
              accountctl deletion request 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --confirm=8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f
              accountctl deletion request anna@example.com --dry-run
              accountctl user list --idle-since 1000d --tsv id > ids.txt
              accountctl deletion request --file ids.txt --dry-run
              accountctl deletion request --file ids.txt --confirm=1200 --rate 50/s --reason "idle for years"
            """
    )

    static let otherWords = [
        "delete", "erase", "remove", "purge", "forget", "user delete", "user erase", "user remove", "user purge",
    ]

    static let outputFields = DeletionRequestSheet.Fact.allCases.map(\.rawValue)

    @Argument(help: "Any term that user find accepts.")
    var user: String?

    @OptionGroup
    var bulk: BulkOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The grace period, such as 2h or 0; at most 30d. Default: the setting deletion.grace.",
            valueName: "duration"
        )
    )
    var grace: String?

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    private static let graceOption = LengthOption(name: "--grace", unit: .second, bounds: 0...2_592_000)

    func validate() throws {
        if (user == nil) == (bulk.file == nil) { throw ValidationError("name an account, or a list with --file") }
        if bulk.file != nil, lookup.by != nil {
            throw ValidationError("--by applies to a term: a list contains user ids")
        }
        _ = try grace.map(Self.graceOption.count)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try context.actor(acting)
        if let file = bulk.file { return try await requestAll(in: file, actor, context) }
        let term = try lookup.term(user ?? "")
        let directory = AccountDirectory(hashKey: actor.hashKey)
        let account = try await context.withConnection { try context.oneAccount(term, in: directory, on: $0) }
        let id = account.id.text
        if account.isHeld {
            context.messages.warning(
                "the account is under a legal hold: it is not erased until accountctl user release \(id)"
            )
        }
        let isRehearsed = confirmation.dryRun
        if !isRehearsed {
            let named = AccountLabel.named(account.id, account)
            try context.confirmIrreversible("Delete the account \(named) for good?", id: id, confirmation)
        }
        let grace = try askedGrace()
        // A dry run opens the request and rolls it back, so it reports the actual outcome.
        let opening = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: isRehearsed) { connection in
                try await DeletionDesk(actor).request(account.id, reason: acting.reason, grace: grace, on: connection)
            }
        }
        switch opening {
        case .opened where isRehearsed:
            context.messages.note("what would be deleted, and what blocks it: accountctl deletion plan \(id)")
            try context.output.show(sheet("would_be_requested", request: nil, user: id, isHeld: account.isHeld))
        case .opened(let request):
            context.messages.note("requested; cancel with: accountctl deletion cancel \(request.text)")
            context.messages.note("follow it with: accountctl deletion watch \(request.text)")
            try context.output.show(sheet("requested", request: request, user: id, isHeld: account.isHeld))
        case .found(let request):
            let kept = grace == nil ? "" : "; its grace period stays as it was"
            context.messages.note(
                "there was an open request already\(kept); see: accountctl deletion show \(request.text)"
            )
            try context.output.show(sheet("found", request: request, user: id, isHeld: account.isHeld))
        case .unknownUser, .erased:
            throw CommandError.accountGone
        }
        return .ok
    }

    private func askedGrace() throws -> Duration? {
        try grace.map { .seconds(try Self.graceOption.count($0)) }
    }

    private func requestAll(in file: String, _ actor: Operator, _ context: CommandContext) async throws -> ExitStatus {
        let resultPath = try bulk.resultPath(for: file)
        let list = try IDList(path: file, of: .users)
        list.tellRepeated(in: context)
        let grace = try askedGrace()
        // The bulk run retries by itself and reports each retry.
        return try await context.withDatabase(retriesConnecting: .never) { pool in
            try await BulkRequest(
                context: context,
                pool: pool,
                list: list,
                resultPath: resultPath,
                desk: DeletionDesk(actor),
                reason: acting.reason,
                grace: grace,
                confirmation: confirmation
            )
            .run(BulkPace(rate: bulk.rate, stopAfter: bulk.stopAfter ?? 10))
        }
    }

    private func sheet(_ outcome: String, request: UUID?, user: String, isHeld: Bool) -> Sheet {
        DeletionRequestSheet.of([
            .outcome: .text(outcome), .request: .uuid(request), .userID: .text(user), .held: .bool(isHeld),
        ])
    }
}
