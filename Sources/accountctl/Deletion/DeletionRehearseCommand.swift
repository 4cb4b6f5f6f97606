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

/// Erases one test account step by step, and says what to look at.
struct DeletionRehearseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Erase one test account step by step, and say what to look at on the device.",
        discussion: """
            A real deletion of a real account, without grace: take one that you made for it. After each step it says what should be
            seen now and waits for Enter; with --no-input it goes on by itself. Workers leave the account alone meanwhile, for half
            a day at most. What is left when it ends, such as the last search, is carried out by one of them. The user id has to be
            typed, or given with --confirm.

            EXIT CODES
              0 as far as it goes now; 2 declined; 3 no such account; 5 residue; 6 blocked, or a worker drives the request already

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
        let id = account.id.uuidString.lowercased()
        if !confirmation.dryRun {
            try context.confirmIrreversible("Erase the account \(id) now, for good?", id: id, confirmation)
        }
        let logger = context.logger(settings)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await context.withDatabase { pool in
                let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
                let services = DeletionServices(
                    pool: pool,
                    policy: parts.policy,
                    vault: try parts.vault(),
                    apple: AppleDoor(try parts.appleClients()),
                    storage: StorageDoor(try parts.storageClient()),
                    logger: logger,
                    probe: { point in
                        if case .after(let step) = point { await Self.tell(step, in: context) }
                    }
                )
                let lease = settings.worker.leaseDuration
                if confirmation.dryRun { return try await look(account.id, actor, lease, pool, context) }
                let rehearsal = try await pool.withConnection { connection in
                    try await connection.transaction { try begin(account.id, actor, lease, on: $0) }
                }
                _ = try await context.withDatabase { try await rehearsal.drive(with: services, control: $0) }
                let details = try await pool.withConnection { try DeletionDetails.read(rehearsal.request, on: $0) }
                guard let details else { throw CommandError(.notFound, "the request has just gone") }
                try context.output.show(DeletionSheet(details: details).sheet)
                return switch details.summary.state {
                case .residue: .residue
                case .blocked, .held: .blocked
                default: .ok
                }
            }
        }
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
        case .driven(let request):
            throw CommandError(
                .blocked,
                "a worker drives the request \(request.uuidString.lowercased()) of this account already",
                hint: "Take an account whose deletion nobody asked for yet."
            )
        case .unknownUser: throw CommandError(.notFound, "the account has just gone")
        }
    }

    /// Begins it, finds out what would hold it up, and undoes that.
    private func look(
        _ account: UUID,
        _ actor: Operator,
        _ lease: Duration,
        _ pool: Pool,
        _ context: CommandContext
    ) async throws -> ExitStatus {
        let id = account.uuidString.lowercased()
        let brakes = try await pool.withConnection { connection in
            try await connection.transaction(rehearsed: true) { connection in
                let request = try begin(account, actor, lease, on: connection).request
                let names = ActNames(id: request.uuidString.lowercased(), account: id)
                return try StandingBrakes.read(of: request, on: connection).words(of: names)
            }
        }
        if brakes.isEmpty {
            context.messages.note(
                "would erase the account \(id) now; what goes with it: accountctl deletion plan \(id)"
            )
            return .ok
        }
        context.messages.note("would begin to erase the account \(id), and stop before its first step")
        for brake in brakes { context.messages.warning(brake) }
        return .blocked
    }

    /// Says what should be seen after a step, and waits until somebody has looked.
    private static func tell(_ step: DeletionStep, in context: CommandContext) async {
        context.messages.note("\(step.rawValue): \(step.whatToLookAt)")
        guard context.isInteractive else { return }
        context.messages.note("Enter goes on, Ctrl-C stops here; a worker carries on then.")
        // On a thread of its own: the heartbeats that keep workers away go on meanwhile.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = readLine()
                continuation.resume()
            }
        }
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
        case .deleteAvatars: "the picture no longer loads"
        case .deleteRows: "the profile is gone for other people; signing in with e-mail fails"
        case .scrubAuth: "nothing to be seen"
        case .verify: "everything readable was searched for what is left"
        case .settle: "no old access token and no signed upload can write any more; searched once more"
        case .receipt:
            "the status token says verified; signing in with Apple makes a new account and asks for the name again"
        }
    }
}
