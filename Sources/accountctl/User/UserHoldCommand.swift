import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Puts a legal hold on an account.
struct UserHoldCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Put a legal hold on an account: it is not erased until you release it.",
        discussion: """
            A deletion in progress stops before its next step, and the command says what was done by then. A --reason is
            required.

            EXIT CODES
              0 held, now or before for this reason; 2 the term names several accounts; 3 no such account; 6 a step of
              its deletion is running, or somebody else is working on it: try again

            EXAMPLES
              accountctl user hold anna@example.com --reason "court order 12/2026"
            """
    )

    static let outputFields = [AccountTarget.idField.name, ActOutcome.field, "hold"]

    @OptionGroup
    var options: ActOptions<AccountTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<AccountActOutcome> {
        guard let reason = options.acting.reason else { throw CommandError(.usage, "a hold needs a --reason") }
        let isRehearsed = options.consent.dryRun
        return Act(
            plan: "Would be done: held.",
            done: "held",
            next: { names, outcome in
                // By number: with several holds, the release has to name one.
                outcome.hold.map { "undo with: accountctl user release \(names.id) --hold \($0)" }
            },
            brakes: { user, _, connection in
                try DeletionDesk.openRequest(of: user, on: connection).map {
                    ["its deletion does not continue until the release; see: accountctl deletion show \($0.text)"]
                } ?? []
            },
            facts: { _, outcome in
                // A dry run rolls its own hold back, so that its number would name none.
                let placed = isRehearsed ? nil : outcome.hold
                let present: Int64? = if case .holding(.unchanged(let hold)) = outcome { hold } else { placed }
                return [.init("hold", "Hold", .integer(present))]
            },
            perform: { actor, _, user, connection in
                .holding(try await DeletionDesk(actor).hold(user, reason: reason, on: connection))
            }
        )
    }
}
