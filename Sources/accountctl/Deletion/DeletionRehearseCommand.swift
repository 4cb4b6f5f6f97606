import AccountLifecycle
import ArgumentParser
import HTTPCalls
import JobQueue
import Postgres
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Erases one test account step by step, and says what to check on the device.
struct DeletionRehearseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Erase one test account step by step, and say what to look at on the device.",
        discussion: """
            This is a real deletion of a real account, without a grace period: use an account that you created for it.
            After each step, the command says what you should see and waits for Enter; with --no-input it continues by
            itself. Workers leave the account alone meanwhile, for half a day at most. When the rehearsal ends or a
            signal stops it, a worker does what is left, such as the last search.

            The user id has to be typed, or given with --confirm. A request that is already open keeps its grace period.
            A dry run ends as the rehearsal would, except that it asks neither Apple nor Storage.

            EXIT CODES
              0 as far as it goes now; 2 declined; 3 no such account; 5 residue; 6 blocked, somebody else drives the
              request, or jobs cancel ended it; 130 stopped by a signal, or nobody answers any more

            EXAMPLES
              accountctl deletion rehearse test@example.com
            """
    )

    static let otherWords = ["user rehearse"]

    static let outputFields = DeletionShowCommand.outputFields
    static let sectionFields = DeletionShowCommand.sectionFields

    @Argument(help: "Any term that user find accepts.")
    var user: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let settings = try context.settings()
        let actor = try context.actor(acting)
        let term = try lookup.term(user)
        let directory = AccountDirectory(hashKey: actor.hashKey)
        let account = try await context.withConnection { connection in
            try context.refuseClone(settings, on: connection)
            return try context.oneAccount(term, in: directory, on: connection)
        }
        let id = account.id.text
        if !confirmation.dryRun {
            let named = AccountLabel.named(account.id, account)
            try context.confirmIrreversible("Erase the account \(named) now, for good?", id: id, confirmation)
        }
        let logger = context.logger(settings)
        let prompt = RehearsalPrompt(context: context)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await context.withDatabase { pool in
                let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
                let services = DeletionServices(
                    pool: pool,
                    policy: parts.policy,
                    vault: try parts.vault(),
                    apple: AppleGateway(try parts.appleClients()),
                    storage: StorageGateway(try parts.storageClient()),
                    logger: logger,
                    probe: { point in
                        if case .after(let step) = point { try await prompt.tell(step) }
                    }
                )
                let lease = settings.worker.leaseDuration
                if confirmation.dryRun {
                    return try await look(account.id, actor, lease, parts.policy, pool, context)
                }
                // Signals are handled from before the rehearsal takes the account's job, since the job must be handed
                // back however the run ends.
                let request = try await Interruptible.run {
                    try await drive(account.id, actor, lease, services, pool, context)
                }
                let details = try await pool.withConnection { try DeletionDetails.read(request, on: $0) }
                guard let details else { throw CommandError.requestGone }
                let sheet = DeletionSheet(details: details, naming: .typed(in: context), showsJob: false).sheet
                try context.output.show(sheet)
                return ExitStatus(details.summary.state)
            }
        }
    }

    /// Begins the rehearsal and drives it as far as it can go now, or until a signal stops it.
    ///
    /// - Returns: The request.
    private func drive(
        _ account: UUID,
        _ actor: Operator,
        _ lease: Duration,
        _ services: DeletionServices,
        _ pool: Pool,
        _ context: CommandContext
    ) async throws -> UUID {
        let rehearsal = try await pool.withConnection { connection in
            try await connection.transaction { try begin(account, actor, lease, on: $0) }
        }
        let request = rehearsal.request
        let hint = "To stop it: accountctl deletion pause \(request.text)"
        do {
            _ = try await context.withDatabase { try await rehearsal.drive(with: services, control: $0) }
        } catch let error as JobQueueError where error.code == .cancelled {
            throw CommandError(
                .blocked,
                "\(error), which ends the rehearsal but not the deletion: a worker continues it",
                hint: hint
            )
        } catch let error where Task.isCancelled || error is CancellationError {
            throw CommandError(
                .interrupted,
                "the rehearsal was stopped: a worker continues the deletion",
                hint: hint
            )
        }
        return request
    }

    /// Takes the account's deletion job, so that no worker can run it.
    private func begin(
        _ account: UUID,
        _ actor: Operator,
        _ lease: Duration,
        on connection: isolated Connection
    ) throws -> DeletionRehearsal {
        let beginning = try DeletionRehearsal.begin(
            account,
            by: DeletionDesk(actor),
            reason: acting.reason ?? "rehearsal",
            as: JobHold.Holder(
                name: "rehearsal by \(ProcessName.own)",
                version: Version.number,
                lifetime: lease,
                longest: .seconds(12 * 3600)
            ),
            on: connection
        )
        return try beginning.rehearsal()
    }

    /// Begins the rehearsal, determines how far it would get, and rolls everything back.
    private func look(
        _ account: UUID,
        _ actor: Operator,
        _ lease: Duration,
        _ policy: DeletionPolicy,
        _ pool: Pool,
        _ context: CommandContext
    ) async throws -> ExitStatus {
        let id = account.text
        let (isNew, foresight, brakes) = try await pool.withConnection { connection in
            try await connection.transaction(rehearsed: true) { connection in
                let rehearsal = try begin(account, actor, lease, on: connection)
                let brakes = try StandingBrakes.read(of: rehearsal.request, on: connection)
                let foresight = try await rehearsal.foresee(of: account, by: policy, on: connection)
                return (rehearsal.isNew, foresight, brakes)
            }
        }
        guard let foresight else { throw CommandError.requestGone }
        let state = foresight.details.summary.state
        let naming = isNew ? .short : CommandNaming.typed(in: context)
        try context.output.show(
            DeletionSheet(details: foresight.details, naming: naming, isForeseen: isNew).sheet
        )
        context.messages.note(foresight.words(of: id))
        if state == .held {
            let names = ActNames(id: foresight.details.summary.id.text, account: id)
            for brake in brakes.words(of: names) { context.messages.warning(brake) }
        }
        return ExitStatus(state)
    }
}
