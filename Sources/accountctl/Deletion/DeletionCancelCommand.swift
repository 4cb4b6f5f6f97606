import AccountLifecycle
import ArgumentParser
import Postgres

/// Cancels a deletion, or those of a list.
struct DeletionCancelCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a deletion, or all in a list, while nothing irreversible was begun.",
        discussion: """
            Once the account is locked out only an operator can; the lock-out is undone then. Sessions do not come back.

            With --file the list, in which # begins a comment, is read whole and every bad line told before anything is done. Each
            request is then cancelled by itself, whatever becomes of the others, and has a row: unchanged where it was cancelled
            before, and where it is refused, refusal says why: verified (it has ended so), begun, under_way or busy. What a run that
            ends early has not cancelled the same command line cancels.

            TO TAKE A LIST BACK
              1. accountctl deletion pause --all gives the time for it.
              2. Cancel what the result file of deletion request --file says was requested, as the last examples do; not what was
              found, which somebody else had asked for.
              3. accountctl deletion resume --all
              4. The corrected list takes a result file of its own: deletion request --file ids.txt --result other.ndjson

            EXIT CODES
              0 cancelled, now or before; 3 no such request; 6 too late; of a list, that of the first that was not cancelled

            EXAMPLES
              accountctl deletion cancel 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --reason "asked by mail"
              accountctl deletion cancel --file requests.txt --dry-run
              accountctl deletion cancel --file requests.txt --reason "the wrong list"
              jq -r 'select(.outcome == "requested").request' ids.txt.results.ndjson > requests.txt
            """
    )

    static let outputFields = DeletionCancelResult.outputFields

    @Argument(help: "A request id, or the user id of its account.")
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
                // A request that is cancelled already is as it should be; other acts come too late for it.
                return outcome == .ended(.cancelled) ? .unchanged : outcome
            }
        )
    }
}
