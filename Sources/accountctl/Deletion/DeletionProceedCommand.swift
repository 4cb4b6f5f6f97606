import AccountLifecycle
import ArgumentParser
import Postgres
import Settings
import Terminal

/// Lets a deletion continue although something that it waits for is lost for good.
struct DeletionProceedCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "proceed",
        abstract: "Continue a deletion without Apple, or without its identifiers.",
        discussion: """
            --without-apple: the run does not revoke the credential. The revocation is tried again separately, or given
            up after some tries if no worker has its key. Refused unless Apple, or a sealing key, holds the request up
            now. From then on, the request neither checks Apple before the lock-out nor waits for it, and deletion show
            says without_apple. --withdraw reverses this until the account is locked out; the request then waits for
            Apple like any other.

            --without-identifiers: the key that sealed the identifiers is lost, so the search covers only the user id
            and what the account shows at the next look, if it still exists; the receipt says so. Refused if
            keys.sealing_file has the key, or if nothing is sealed yet. This cannot be reversed.

            The request's id has to be typed, or given with --confirm. Reversing asks nothing.

            EXIT CODES
              0 it continues, or waits for Apple again; 3 no such request; 6 refused, and refusal says why:
              nothing_lost, not_held_up_by_apple, locked_out (--withdraw), under_way or busy (try again), or the state
              in which it has ended

            EXAMPLES
              accountctl deletion proceed 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --without-apple
              accountctl deletion proceed 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --without-apple --withdraw
            """
    )

    static let outputFields = RequestTarget.outputFields

    @Flag(name: .long, help: "Continue without waiting for Apple.")
    var withoutApple = false

    @Flag(name: .long, help: "Continue without the identifiers, whose sealing key is lost.")
    var withoutIdentifiers = false

    @Flag(name: .long, help: "Reverse --without-apple, until the account is locked out.")
    var withdraw = false

    @OptionGroup
    var options: ActOptions<RequestTarget, ConfirmOptions>

    func validate() throws {
        if !withoutApple, !withoutIdentifiers {
            throw ValidationError("name what to continue without: --without-apple or --without-identifiers")
        }
        if withdraw, withoutIdentifiers {
            throw ValidationError("--withdraw reverses --without-apple, but not --without-identifiers")
        }
    }

    func act(in context: CommandContext) throws -> Act<DeletionDesk.Act> {
        if withdraw { return withdrawal }
        let (apple, identifiers, reason) = (withoutApple, withoutIdentifiers, options.acting.reason)
        let missing = (apple ? ["Apple"] : []) + (identifiers ? ["its identifiers, which cannot be reversed"] : [])
        let hasKeys = try context.checkedSettings().settings.keys.sealingKeyFile != nil
        let keys = identifiers && hasKeys ? try context.keyRing() : nil
        return Act(
            plan: "would continue",
            done: "continues",
            question: { "Continue the deletion \($0) without \(Wording.list(missing))?" },
            brakes: RequestTarget.brakes,
            facts: RequestTarget.facts,
            perform: { actor, _, request, connection in
                if let keys,
                    let key = try DeletionDesk.keyOfIdentifiers(of: request, among: keys, on: connection)
                {
                    return .refused(.identifiersReadable(key: key))
                }
                return try await DeletionDesk(actor).proceed(
                    request,
                    withoutApple: apple,
                    withoutIdentifiers: identifiers,
                    reason: reason,
                    on: connection
                )
            }
        )
    }

    /// Makes the request wait for Apple again.
    private var withdrawal: Act<DeletionDesk.Act> {
        let reason = options.acting.reason
        return Act(
            plan: "would wait for Apple again",
            done: "waits for Apple again",
            brakes: RequestTarget.brakes,
            facts: RequestTarget.facts,
            perform: { actor, _, request, connection in
                try await DeletionDesk(actor).waitForApple(request, reason: reason, on: connection)
            }
        )
    }
}
