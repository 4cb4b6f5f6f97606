import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Releases the legal holds of an account.
struct UserReleaseCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Release a legal hold of an account; an open deletion continues.",
        discussion: """
            If a deletion waits for the release, the account is erased next, irreversibly: its id has to be typed, or
            given with --confirm. If there are several holds, name one with --hold, or give --all-holds.

            EXIT CODES
              0 released, or there was none; 2 declined, or the term names several accounts; 3 no such account, or no
              hold of that number on it; 6 there are several holds, and none is named

            EXAMPLES
              accountctl user release anna@example.com --reason "order lifted"
            """
    )

    static let otherWords = ["unhold", "deletion release", "deletion unhold"]

    @Option(name: .long, help: ArgumentHelp("Release only the hold with this number.", valueName: "number"))
    var hold: Int64?

    @Flag(name: .long, help: "Release every hold, if there are several.")
    var allHolds = false

    @OptionGroup
    var options: ActOptions<AccountTarget, ConfirmOptions>

    func act(in context: CommandContext) throws -> Act<AccountActOutcome> {
        let reason = options.acting.reason
        // A hold that somebody places while the question waits is not released.
        let found = Found<[Int64]>([])
        return Act(
            plan: "Would be done: released.",
            done: "released",
            // Not called an undoing: what the release lets go on may have erased the account by then.
            next: { names, _ in "hold it again with: accountctl user hold \(names.id) --reason WHY" },
            question: { "Release \($0), so that its open deletion erases it for good?" },
            asks: { [hold, allHolds] user, connection in
                switch try Self.choice(hold, allHolds, of: user, on: connection) {
                // These release nothing, whatever happens meanwhile.
                case .unknown, .released: false
                // The remaining holds still stop the deletion.
                case .these(_, isEvery: false): false
                // `several` means that a hold was placed after the check in `refuses`; only one may be left when the
                // question is answered.
                case .these, .several: try DeletionDesk.waitsForRelease(of: user, on: connection)
                }
            },
            // Before the question, since the act would be refused after it.
            refuses: { [hold, allHolds] user, connection in
                switch try Self.choice(hold, allHolds, of: user, on: connection) {
                case .several(let which): return .severalHolds(which)
                case .these(let holds, _): found.set(holds)
                case .released, .unknown: break
                }
                return nil
            },
            brakes: { user, names, connection in
                guard let request = try DeletionDesk.openRequest(of: user, on: connection) else { return [] }
                let its = ActNames(id: request.text, account: names.account)
                return try StandingBrakes.read(of: request, on: connection).words(of: its)
            },
            perform: { [hold, allHolds] actor, _, user, connection in
                switch try Self.choice(hold, allHolds, of: user, on: connection) {
                case .several(let which): return .severalHolds(which)
                case .released: return .released(0)
                case .unknown(let why):
                    throw CommandError(
                        .notFound,
                        why,
                        hint: "See: accountctl user show \(user.text)"
                    )
                case .these(let meant, _):
                    let desk = DeletionDesk(actor)
                    let holds = meant.filter { found.value.contains($0) }
                    return .released(try await desk.release(user, holds: holds, reason: reason, on: connection))
                }
            }
        )
    }

    func validate() throws {
        if hold != nil, allHolds { throw ValidationError("--hold and --all-holds cannot be combined") }
    }

    /// Which holds of an account the command line selects.
    private enum Choice {
        /// These holds, possibly none, and whether they are all that the account has.
        case these([Int64], isEvery: Bool)
        /// The named hold is already released.
        case released
        /// The named hold is not a hold of the account.
        case unknown(String)
        /// There are several holds, and no option selects one.
        case several(String)
    }

    private static func choice(
        _ hold: Int64?,
        _ allHolds: Bool,
        of user: UUID,
        on connection: isolated Connection
    ) throws -> Choice {
        let holds = try DeletionDesk.holds(of: user, on: connection)
        if let hold {
            if holds.contains(where: { $0.id == hold }) { return .these([hold], isEvery: holds.count == 1) }
            return try DeletionDesk.isReleased(hold, on: connection)
                ? .released : .unknown("the account has no hold \(hold)")
        }
        if holds.count < 2 || allHolds { return .these(holds.map(\.id), isEvery: true) }
        let list = holds.map { "\($0.id) by \($0.placedBy) on \(Wording.moment($0.placedAt)) (\($0.reason))" }
        return .several(
            "the account has \(holds.count) holds: \(list.joined(separator: "; ")); name one with --hold, or give --all-holds"
        )
    }
}
