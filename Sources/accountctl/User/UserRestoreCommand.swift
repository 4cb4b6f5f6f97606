import AccountLifecycle
import ArgumentParser
import Postgres

/// Lets a suspended account sign in again.
struct UserRestoreCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Let a suspended account sign in again.",
        discussion: """
            EXIT CODES
              0 restored, or not suspended; 2 the term names several accounts; 3 no such account; 6 it is being erased

            EXAMPLES
              accountctl user restore anna@example.com --reason "mistaken identity, ticket 4712"
            """
    )

    static let otherWords = ["unban", "unblock", "enable", "unlock", "unsuspend"]

    @OptionGroup
    var options: ActOptions<AccountTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<AccountActOutcome> {
        let reason = options.acting.reason
        let now = context.now()
        return Act(
            plan: "Would be done: may sign in again.",
            done: "may sign in again",
            look: .init(writes: [.user]),
            next: { names, outcome in
                guard case .acted(.restored(let ban)) = outcome else { return nil }
                return "undo with: " + UserSuspendCommand.again(names, ban, now: now)
            },
            perform: { actor, writes, user, connection in
                .acted(try await AccountDesk(actor, writes: writes).restore(user, reason: reason, on: connection))
            }
        )
    }
}
