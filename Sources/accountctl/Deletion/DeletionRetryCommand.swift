import AccountLifecycle
import ArgumentParser
import Postgres

/// Makes a worker process a deletion again now.
struct DeletionRetryCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Look at a deletion again now, after you removed what stopped it.",
        discussion: """
            A request that nothing stopped, and that waits for the end of its grace period or for its last search, is
            left as it is.

            EXIT CODES
              0 a worker looks at it as soon as one is free, or it waits for its time; 3 no such request; 6
              refused: it has ended (refusal has the state), or one of its steps is running (under_way or busy): try
              again

            EXAMPLES
              accountctl deletion retry 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let outputFields = RequestTarget.outputFields

    @OptionGroup
    var options: ActOptions<RequestTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<DeletionDesk.Act> {
        let reason = options.acting.reason
        return Act(
            plan: "would be tried again",
            done: "tried again as soon as a worker is free",
            brakes: RequestTarget.brakes,
            facts: RequestTarget.facts,
            perform: { actor, _, request, connection in
                try await DeletionDesk(actor).retry(request, reason: reason, on: connection)
            }
        )
    }
}
