import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Ends every session of an account.
struct UserSignOutCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End every session of an account.",
        discussion: """
            Access tokens that were given out live on until they expire, at most an hour by default; the person can sign in again.

            EXAMPLES
              accountctl user sign-out anna@example.com --reason "lost phone, ticket 4711"
            """
    )

    @OptionGroup
    var target: AccountTarget

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        let reason = acting.reason
        return Act(
            plan: "Would be done: signed out everywhere.",
            done: "signed out everywhere",
            look: .init(writes: [.sessions]),
            perform: { actor, writes, user, connection in
                try await AccountDesk(actor, writes: writes).signOut(user, reason: reason, on: connection)
            }
        )
    }
}

/// Forbids an account to sign in.
struct UserSuspendCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Forbid an account to sign in, and end its sessions.",
        discussion: """
            Undone by user restore, or by itself after the time given with --for. The account's profile and files can no longer be
            changed with tokens that are still out.

            EXAMPLES
              accountctl user suspend anna@example.com --reason "spam, ticket 4711" --for 30d
            """
    )

    @OptionGroup
    var target: AccountTarget

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long, such as 12h or 30d; at most 36500d.", valueName: "time")
    )
    var length: String = "3650d"

    @Flag(name: .long, help: "Let a suspension that ends later end then; otherwise it stands.")
    var shorten = false

    /// Supabase cannot write dates beyond the year 9999, and then no account at all.
    private static let longest = Duration.seconds(36500 * 86400)

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        let duration = try DurationArgument.required(length, "--for")
        guard duration > .zero else { throw CommandError(.usage, "--for must be longer than nothing, such as 30d") }
        guard duration <= Self.longest else {
            throw CommandError(
                .usage,
                "--for must be at most 36500d, a hundred years: Supabase cannot write every later date"
            )
        }
        guard let reason = acting.reason else {
            throw CommandError(.usage, "a suspension needs a --reason: somebody will ask")
        }
        let until = context.now() + duration / .seconds(1)
        let done = "suspended until \(Wording.moment(until))"
        return Act(
            plan: "Would be done: \(done).",
            done: done,
            look: .init(writes: [.user, .sessions]),
            next: { "undo with: accountctl user restore \($0.id)" },
            question: { "Suspend \($0) until \(Wording.moment(until))?" },
            perform: { [shorten] actor, writes, user, connection in
                try await AccountDesk(actor, writes: writes)
                    .suspend(user, until: until, mayShorten: shorten, reason: reason, on: connection)
            }
        )
    }
}

/// Lets a suspended account sign in again.
struct UserRestoreCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Let a suspended account sign in again.",
        discussion: """
            EXAMPLES
              accountctl user restore anna@example.com --reason "mistaken identity, ticket 4712"
            """
    )

    @OptionGroup
    var target: AccountTarget

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        let reason = acting.reason
        return Act(
            plan: "Would be done: may sign in again.",
            done: "may sign in again",
            look: .init(writes: [.user]),
            next: { "undo with: accountctl user suspend \($0.id) --reason WHY" },
            perform: { actor, writes, user, connection in
                try await AccountDesk(actor, writes: writes).restore(user, reason: reason, on: connection)
            }
        )
    }
}

/// Puts a legal hold on an account.
struct UserHoldCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a legal hold on an account: it is not erased until released.",
        discussion: """
            A deletion that is under way stops before its next step; what it had done by then is told.

            EXAMPLES
              accountctl user hold anna@example.com --reason "court order 12/2026"
            """
    )

    @OptionGroup
    var target: AccountTarget

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        guard let reason = acting.reason else { throw CommandError(.usage, "a hold needs a --reason") }
        return Act(
            plan: "Would be done: held.",
            done: "held",
            next: { "undo with: accountctl user release \($0.id)" },
            perform: { actor, _, user, connection in
                switch try await DeletionDesk(actor).hold(user, reason: reason, on: connection) {
                case .held: .done(sessions: 0)
                case .heldLate(let state, let done): .heldLate(state: state, done: done)
                case .unchanged: .unchanged
                case .unknownUser: .unknownUser
                case .notNow(let why): .notNow(why)
                }
            }
        )
    }
}

/// Releases the legal holds of an account.
struct UserReleaseCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Release the legal holds of an account; an open deletion goes on.",
        discussion: """
            Where a deletion waits for the release, the account is erased next, for good: then its id has to be typed, or given with
            --confirm. Of several holds none is released without a word: name one with --hold, or give --all-holds.

            EXAMPLES
              accountctl user release anna@example.com --reason "order lifted"
            """
    )

    @OptionGroup
    var target: AccountTarget

    @Option(name: .long, help: ArgumentHelp("Only the hold of this number.", valueName: "number"))
    var hold: Int64?

    @Flag(name: .long, help: "Every hold, where there are several.")
    var allHolds = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        let reason = acting.reason
        return Act(
            plan: "Would be done: released.",
            done: "released",
            next: { "undo with: accountctl user hold \($0.id) --reason WHY" },
            question: { "Release \($0), so that its open deletion erases it for good?" },
            asks: { [hold, allHolds] user, connection in
                // What is not going to be done is not asked about.
                guard case .these = try Self.choice(hold, allHolds, of: user, on: connection) else { return false }
                return try DeletionDesk.waitsForRelease(of: user, on: connection)
            },
            brakes: { user, names, connection in
                guard let request = try DeletionDesk.openRequest(of: user, on: connection) else { return [] }
                let its = ActNames(id: request.uuidString.lowercased(), account: names.account)
                return try StandingBrakes.read(of: request, on: connection).words(of: its)
            },
            perform: { [hold, allHolds] actor, _, user, connection in
                switch try Self.choice(hold, allHolds, of: user, on: connection) {
                case .several(let why): return .notNow(why)
                case .unknown(let why):
                    throw CommandError(
                        .notFound,
                        why,
                        hint: "See: accountctl user show \(user.uuidString.lowercased())"
                    )
                case .these(let meant):
                    return try await DeletionDesk(actor).release(user, holds: meant, reason: reason, on: connection) > 0
                        ? .done(sessions: 0) : .unchanged
                }
            }
        )
    }

    func validate() throws {
        if hold != nil, allHolds { throw ValidationError("--hold and --all-holds exclude each other") }
    }

    /// Which of an account's holds are meant.
    private enum Choice {
        /// These; none where there is none.
        case these([Int64])
        /// The one that was named does not lie on the account.
        case unknown(String)
        /// There are several, and nothing says which.
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
            return holds.contains { $0.id == hold } ? .these([hold]) : .unknown("no hold \(hold) lies on the account")
        }
        if holds.count < 2 || allHolds { return .these(holds.map(\.id)) }
        let list = holds.map { "\($0.id) by \($0.placedBy) on \(Wording.moment($0.placedAt)) (\($0.reason))" }
        return .several(
            "\(holds.count) holds lie on the account: \(list.joined(separator: "; ")); name one with --hold, or give --all-holds"
        )
    }
}
