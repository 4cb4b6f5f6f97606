import AccountLifecycle
import ArgumentParser
import Postgres

/// Cancels a deletion.
struct DeletionCancelCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a deletion while nothing irreversible was begun.",
        discussion: """
            Once the account is locked out only an operator can; the lock-out is undone then. Sessions do not come back.

            EXIT CODES
              0 cancelled; 3 no such request; 6 too late, or it has ended

            EXAMPLES
              accountctl deletion cancel 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --reason "asked by mail"
            """
    )

    @OptionGroup
    var options: ActOptions<RequestTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<DeletionDesk.Act> {
        let reason = options.acting.reason
        return Act(
            plan: "would be cancelled",
            done: "cancelled",
            look: .init(writes: [.user], applies: { try DeletionDesk.isLockedOut($0, on: $1) }),
            next: { names, _ in names.account.map { "ask again with: accountctl deletion request \($0)" } },
            perform: { actor, writes, request, connection in
                try await DeletionDesk(actor, writes: writes).cancel(request, reason: reason, on: connection)
            }
        )
    }
}
