import AccountLifecycle
import ArgumentParser
import Dispatch
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

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Erases one test account step by step, and says what to look at.
struct DeletionRehearseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Erase one test account step by step, and say what to look at on the device.",
        discussion: """
            A real deletion of a real account, without grace: take one that you made for it. After each step it says what should be
            seen now and waits for Enter; with --no-input it goes on by itself. Workers leave the account alone meanwhile, for half
            a day at most. What is left when it ends, such as the last search, or is stopped by a signal, is carried out by one of
            them. The user id has to be typed, or given with --confirm. A request that is open already keeps its grace. A dry run
            ends as the rehearsal would, but that it asks neither Apple nor Storage.

            EXIT CODES
              0 as far as it goes now; 2 declined; 3 no such account; 5 residue; 6 blocked, somebody drives the request already, or
              jobs cancel ended it; 130 stopped by a signal, or where nobody answers any more

            EXAMPLES
              accountctl deletion rehearse test@example.com
            """
    )

    static let outputFields = DeletionShowCommand.outputFields
    static let sectionFields = DeletionShowCommand.sectionFields

    @Argument(help: "A user id, e-mail address, phone number, Apple sub or username.")
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
                        if case .after(let step) = point { try await Self.tell(step, in: context) }
                    }
                )
                let lease = settings.worker.leaseDuration
                if confirmation.dryRun {
                    return try await look(account.id, actor, lease, parts.policy, pool, context)
                }
                // From before it holds the account: what ends it then has to give that back.
                let request = try await Interruptible.run {
                    try await drive(account.id, actor, lease, services, pool, context)
                }
                let details = try await pool.withConnection { try DeletionDetails.read(request, on: $0) }
                guard let details else { throw CommandError(.notFound, "the request has just gone") }
                try context.output.show(DeletionSheet(details: details, naming: .typed(in: context)).sheet)
                return ExitStatus(details.summary.state)
            }
        }
    }

    /// Begins it, and drives it as far as it goes now, or until a signal stops it.
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
        let hint = "Stop that: accountctl deletion pause \(request.text)"
        do {
            _ = try await context.withDatabase { try await rehearsal.drive(with: services, control: $0) }
        } catch let error as JobQueueError where error.code == .cancelled {
            throw CommandError(
                .blocked,
                "\(error), which ends the rehearsal and not the deletion: a worker goes on with it",
                hint: hint
            )
        } catch let error where Task.isCancelled || error is CancellationError {
            throw CommandError(
                .interrupted,
                "the rehearsal was stopped: a worker goes on with the deletion",
                hint: hint
            )
        }
        return request
    }

    /// Takes the deletion of an account from all workers.
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
        switch beginning {
        case .begun(let begun): return begun
        case .driven(let request, let holder):
            throw CommandError(
                .blocked,
                "the request \(request.text) of this account is driven already"
                    + (holder.map { ", by \(SafeText.line($0))" } ?? ""),
                hint: "Try again when that has ended; if its process died, when the lease has: accountctl jobs workers"
            )
        case .setAside(let request, let job):
            throw CommandError(
                .blocked,
                "the job of the request \(request.text) of this account is set aside",
                hint: "See why: accountctl jobs show \(job)"
            )
        case .queuePaused(let reason):
            throw CommandError(.blocked, StandingBrakes.words(ofQueue: StandingBrakes.queueName, reason))
        case .unknownUser: throw CommandError(.notFound, "the account has just gone")
        }
    }

    /// Begins it, finds out how far it would come, and undoes that.
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
        guard let foresight else { throw CommandError(.notFound, "the request has just gone") }
        let state = foresight.details.summary.state
        let naming = isNew ? .short : CommandNaming.typed(in: context)
        try context.output.show(
            DeletionSheet(details: foresight.details, naming: naming, isForeseen: isNew).sheet
        )
        context.messages.note(Self.words(foresight, of: id))
        if state == .held {
            let names = ActNames(id: foresight.details.summary.id.text, account: id)
            for brake in brakes.words(of: names) { context.messages.warning(brake) }
        }
        return ExitStatus(state)
    }

    /// How far it would come, in a sentence.
    private static func words(_ foresight: DeletionRehearsal.Foresight, of account: String) -> String {
        let request = foresight.details.summary
        let isBegun = request.lockedOutAt != nil
        if let step = foresight.nextStep {
            return isBegun
                ? "would go on to erase the account \(account), from the step \(step.rawValue)"
                : "would erase the account \(account) now, where Apple and Storage can be used; what goes with it: "
                    + "accountctl deletion plan \(account)"
        }
        return switch request.state {
        case .grace:
            "would wait: the open request of the account \(account) has grace until \(Wording.moment(request.runAfter))"
        case .settling: "would wait for the last search of the account \(account)"
        case .requested, .held, .blocked, .waitingForApple, .running, .residue, .verified, .cancelled:
            isBegun
                ? "would go on to erase the account \(account), and stop before its next step"
                : "would begin to erase the account \(account), and stop before its first step"
        }
    }

    /// Says what should be seen after a step, and waits until somebody has looked.
    ///
    /// - Throws: `CancellationError` when the rehearsal is to end, or nobody is there any more to look.
    private static func tell(_ step: DeletionStep, in context: CommandContext) async throws {
        context.messages.note("\(step.rawValue): \(step.whatToLookAt)")
        // Behind the last one nothing is left to go on with.
        guard context.isInteractive, step != DeletionStep.allCases.last else { return }
        context.messages.note("Enter goes on, Ctrl-C stops here; a worker carries on then.")
        // On a thread of its own: the heartbeats that keep workers away go on meanwhile.
        let (lines, line) = AsyncStream.makeStream(of: Void.self)
        DispatchQueue.global().async {
            if Self.readEnter() { line.yield() }
            line.finish()
        }
        for await _ in lines { return }
        throw CancellationError()
    }

    /// Reads to the end of a line; false where the input ends, as with a terminal that goes.
    ///
    /// Not through the C library's stream: whoever reads from that holds its lock, for which the end of the process
    /// waits.
    private static func readEnter() -> Bool {
        var byte: UInt8 = 0
        var count = 0
        repeat {
            count = read(STDIN_FILENO, &byte, 1)
        } while count == 1 && byte != UInt8(ascii: "\n") || count < 0 && errno == EINTR
        return count == 1
    }
}

extension DeletionStep {
    /// What somebody with the device in hand should see now.
    fileprivate var whatToLookAt: String {
        switch self {
        case .preflight: "nothing was touched; the app works as before"
        case .lockOut: "the app can no longer save anything, and is signed out when it refreshes its session"
        case .revokeApple:
            "the app is gone from Settings, Apple Account, Sign in with Apple, where a credential was held; Apple may send a mail"
        case .deleteAvatars: "the picture no longer loads once caches have let it go"
        case .deleteRows: "the profile is gone for other people; signing in with e-mail fails"
        case .scrubAuth: "nothing to be seen"
        case .verify: "everything readable was searched for what is left"
        case .settle: "no old access token and no signed upload can write any more; searched once more"
        case .receipt:
            "the status token says verified; signing in with Apple makes a new account and asks for the name again"
        }
    }
}
