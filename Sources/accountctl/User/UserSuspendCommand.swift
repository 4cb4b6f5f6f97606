import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
