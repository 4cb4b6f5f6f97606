import AccountLifecycle
import ArgumentParser
import Postgres

/// Cancels one deletion, or every deletion of a list.
struct DeletionCancelCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a deletion, or every one in a list, before anything irreversible has begun.",
        discussion: """
            Once the account is locked out, only an operator can cancel. The account can then sign in again; its old
            sessions do not come back.

            With --file, the whole list is read first (# begins a comment), and every bad line is reported before
            anything is done. Each request is then cancelled by itself, whatever happens to the others, and has a row:
            unchanged if it was cancelled before, and if it is refused, refusal says why: verified (it has ended so),
            begun, under_way or busy. If the run ends early, the same command line cancels the rest.

            TO TAKE A LIST BACK
              1. accountctl deletion pause --all gives you the time for it.
              2. Cancel what the result file of deletion request --file says was requested, as the last examples do; not what was
              found, since somebody else had requested that.
              3. accountctl deletion resume --all
              4. Give the corrected list its own result file: deletion request --file ids.txt --result other.ndjson

            EXIT CODES
              0 cancelled, now or before; 3 no such request; 6 too late; for a list, the code of the first request that
              was not cancelled

            EXAMPLES
              accountctl deletion cancel anna@example.com --reason "asked by mail"
              accountctl deletion cancel --file requests.txt --dry-run
              accountctl deletion cancel --file requests.txt --reason "the wrong list"
              jq -r 'select(.outcome == "requested").request' ids.txt.results.ndjson > requests.txt
            """
    )

    // To delete or remove a deletion may be to request it or to call it off.
    static let otherWords = ["abort", "undo", "withdraw", "deletion delete", "deletion remove"]

    static let outputFields = DeletionCancelResult.outputFields

    @Argument(help: "A request id, or the user id or e-mail address of its account.")
    var request: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Cancel every request in this list of request ids, one a line; - reads standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var file: String?

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if (request == nil) == (file == nil) { throw Self.either }
    }

    private static let either = ValidationError("name a request, or a list with --file")

    func run(in context: CommandContext) async throws -> ExitStatus {
        if let file { return try await cancelAll(in: file, context) }
        guard let request else { throw Self.either }
        return try await context.carryOut(act, on: RequestTarget.named(request), acting, consent)
    }

    private func cancelAll(in file: String, _ context: CommandContext) async throws -> ExitStatus {
        let list = try IDList(path: file, of: .requests)
        let actor = try context.actor(acting)
        list.tellRepeated(in: context)
        return try await context.withDatabase { pool in
            try await DeletionCancelRun(
                context: context,
                pool: pool,
                list: list,
                actor: actor,
                reason: acting.reason,
                isRehearsed: consent.dryRun
            )
            .run()
        }
    }

    private var act: Act<DeletionDesk.Act> {
        let (reason, isRehearsed) = (acting.reason, consent.dryRun)
        return Act(
            plan: "would be cancelled",
            done: "cancelled",
            look: .init(writes: [.user], applies: { try DeletionDesk.isLockedOut($0, on: $1) }),
            next: { names, _ in names.account.map { "ask again with: accountctl deletion request \($0)" } },
            facts: { DeletionCancelResult($0, $1, isRehearsed: isRehearsed).facts },
            perform: { actor, writes, request, connection in
                let desk = DeletionDesk(actor, writes: writes)
                let outcome = try await desk.cancel(request, reason: reason, on: connection)
                // A request that was cancelled already is in the desired state; for other commands that is an error.
                return outcome == .ended(.cancelled) ? .unchanged : outcome
            }
        )
    }
}
