import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps an account from signing in.
struct UserSuspendCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Keep an account from signing in, and end its sessions.",
        discussion: """
            The suspension ends with user restore, after the time given with --for, or at that of --until. Meanwhile,
            tokens that are still valid can no longer change the account's profile and files. A --reason is required.

            EXIT CODES
              0 suspended; 2 declined, or the term names several accounts; 3 no such account; 6 it is being erased, or
              suspended for longer, which --shorten ends sooner

            EXAMPLES
              accountctl user suspend anna@example.com --reason "spam, ticket 4711" --for 30d
            """
    )

    static let otherWords = ["ban", "block", "disable", "lock"]

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long to suspend it, such as 12h or 30d; at most 36500d. Default: 3650d.",
            valueName: "duration"
        )
    )
    var length: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Until when to suspend it instead: a date (2026-11-20) or a moment (2026-11-20T12:00:00Z).",
            valueName: "moment"
        )
    )
    var until: String?

    @Flag(name: .long, help: "Shorten a suspension that ends later; otherwise it stays.")
    var shorten = false

    /// The longest suspension: Supabase cannot write dates beyond the year 9999, and then writes no account at all.
    private static let longest = Duration.seconds(36500 * 86400)

    @OptionGroup
    var options: ActOptions<AccountTarget, WriteOptions>

    func validate() throws {
        if length != nil, until != nil { throw ValidationError("--for and --until cannot be combined") }
    }

    func act(in context: CommandContext) throws -> Act<AccountActOutcome> {
        let now = context.now()
        let until = try end(now: now)
        guard let reason = options.acting.reason else {
            throw CommandError(.usage, "a suspension needs a --reason")
        }
        let done = "suspended until \(Wording.moment(until))"
        return Act(
            plan: "Would be done: \(done).",
            done: done,
            look: .init(writes: [.user, .sessions]),
            next: { names, outcome in
                guard case .acted(.suspended(_, let ban?)) = outcome else {
                    return "undo with: accountctl user restore \(names.id)"
                }
                return "undo with: \(Self.again(names, ban, now: now)) --shorten"
            },
            question: { "Suspend \($0) until \(Wording.moment(until))?" },
            perform: { [shorten] actor, writes, user, connection in
                .acted(
                    try await AccountDesk(actor, writes: writes)
                        .suspend(user, until: until, mayShorten: shorten, reason: reason, on: connection)
                )
            }
        )
    }

    /// The command that restores an earlier ban; without an end if the ban had none, or one that Supabase cannot write.
    static func again(_ names: ActNames, _ ban: AccountBan, now: Date) -> String {
        let latest = now + longest / .seconds(1)
        let end = ban.until.flatMap { $0 <= latest ? " --until \(Wording.rfc3339($0))" : nil } ?? ""
        return "accountctl user suspend \(names.id)\(end) --reason WHY"
    }

    private func end(now: Date) throws -> Date {
        let (option, end) =
            try until.map { ("--until", try DurationArgument.absolute($0, "--until")) }
            ?? ("--for", now + DurationArgument.required(length ?? "3650d", "--for") / .seconds(1))
        guard end > now else {
            throw CommandError(
                .usage,
                until == nil ? "--for must be longer than zero, such as 30d" : "--until is in the past"
            )
        }
        guard end <= now + Self.longest / .seconds(1) else {
            throw CommandError(
                .usage,
                "\(option) must be at most 36500d from now, a hundred years: Supabase cannot write every later date"
            )
        }
        return end
    }
}
