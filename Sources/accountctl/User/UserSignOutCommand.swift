import AccountLifecycle
import ArgumentParser
import Postgres

/// Ends every session of an account.
struct UserSignOutCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End every session of an account.",
        discussion: """
            Access tokens that were issued stay valid until they expire, at most an hour by default. The person can sign
            in again; user suspend prevents that.

            EXIT CODES
              0 signed out, or there was no session; 2 the term names several accounts; 3 no such account; 6 it is being
              erased

            EXAMPLES
              accountctl user sign-out anna@example.com --reason "lost phone, ticket 4711"
            """
    )

    static let otherWords = ["logout", "kick"]

    @OptionGroup
    var options: ActOptions<AccountTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<AccountActOutcome> {
        let reason = options.acting.reason
        return Act(
            plan: "Would be done: signed out everywhere.",
            done: "signed out everywhere",
            look: .init(writes: [.sessions]),
            perform: { actor, writes, user, connection in
                .acted(try await AccountDesk(actor, writes: writes).signOut(user, reason: reason, on: connection))
            }
        )
    }
}
