import AccountLifecycle
import ArgumentParser
import Postgres

/// Has a deletion looked at again now.
struct DeletionRetryCommand: ActCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Look at a deletion again now, after its fault is gone.",
        discussion: """
            One that had no fault, and waits for the end of grace or for its last search, is left as it is.

            EXIT CODES
              0 it is looked at as soon as a worker is free, or waits for its time; 3 no such request; 6 it has ended, or a step of
              it is under way: try again

            EXAMPLES
              accountctl deletion retry 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    @OptionGroup
    var options: ActOptions<RequestTarget, WriteOptions>

    func act(in context: CommandContext) throws -> Act<DeletionDesk.Act> {
        let reason = options.acting.reason
        return Act(
            plan: "would be tried again",
            done: "tried again as soon as a worker is free",
            brakes: RequestTarget.brakes,
            perform: { actor, _, request, connection in
                try await DeletionDesk(actor).retry(request, reason: reason, on: connection)
            }
        )
    }
}
