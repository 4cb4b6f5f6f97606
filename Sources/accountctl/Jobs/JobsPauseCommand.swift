import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Stops workers from claiming jobs of a queue.
struct JobsPauseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Keep jobs of a queue from beginning; running ones continue.",
        discussion: """
            The reason is shown while the queue is paused; a new reason replaces it. The command asks first; --yes
            answers, as a script has to.

            With deletions paused, no erasure begins and none that waits continues. One that is running continues
            through its steps, though: accountctl deletion pause --all stops that, too, before its next irreversible
            step. With apple paused, authorization codes expire after five minutes each: accounts that sign up meanwhile
            cannot be revoked at Apple until they sign in with Apple again.

            EXAMPLES
              accountctl jobs pause apple --reason "incident 7" --yes
            """
    )

    static let outputFields = QueueSheet.fields

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(help: "The name of the queue.")
    var queue: String

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        try OptionText.check("--reason", acting.reason, limit: OptionText.jobReason)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let status = try await context.act(
            onQueue: queue,
            as: "jobs.pause",
            facts: ["queue": queue],
            acting,
            write,
            asking: "Pause queue \(queue)?",
            words: ("\(queue) is paused", "would pause \(queue)", "\(queue) was paused already")
        ) { signature, connection in
            try JobQueue().pause(queue: queue, reason: signature.reason, on: connection)
        }
        if let caution { context.messages.warning(caution) }
        return status
    }

    /// A warning about what continues despite the pause, or is lost by it; nil if there is none.
    private var caution: String? {
        switch queue {
        case StandingBrakes.queueName:
            "an erasure in progress continues through its steps; to stop it before the next irreversible one: "
                + "accountctl deletion pause --all"
        case AccountLifecycle.queueOfCodes:
            "authorization codes expire after five minutes: accounts that sign up meanwhile cannot be revoked at Apple "
                + "until they sign in with Apple again"
        default: nil
        }
    }
}
