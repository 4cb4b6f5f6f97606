import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
    var options: ActOptions<AccountTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<AccountDesk.Outcome> {
        let reason = options.acting.reason
        let latest = context.now() + UserSuspendCommand.longest / .seconds(1)
        return Act(
            plan: "Would be done: may sign in again.",
            done: "may sign in again",
            look: .init(writes: [.user]),
            next: { names, outcome in
                guard case .restored(let ban) = outcome else { return nil }
                let end = ban.until.flatMap { $0 <= latest ? " --until \(Wording.rfc3339($0))" : nil } ?? ""
                return "undo with: accountctl user suspend \(names.id)\(end) --reason WHY"
            },
            perform: { actor, writes, user, connection in
                try await AccountDesk(actor, writes: writes).restore(user, reason: reason, on: connection)
            }
        )
    }
}
