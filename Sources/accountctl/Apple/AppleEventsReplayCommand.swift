import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Has an event handled again.
struct AppleEventsReplayCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Handle an event again, under the rules and the policy as they are now.",
        discussion: """
            A stale event stays stale: a replay never signs out a person who came back.

            EXIT CODES
              0 enqueued; 3 there is no such event; 6 it cannot be replayed

            EXAMPLES
              accountctl apple events replay 42
            """
    )

    @Argument(help: "The event's id, as list shows it.")
    var id: Int64

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let signature = try context.signature(acting)
        let replay = try await context.withConnection { [id] connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                let replay = try await CredentialBooks.replay(id, on: connection)
                if case .enqueued = replay {
                    try signature.log("apple.replay_event", facts: ["event": "\(id)"], on: connection)
                }
                return replay
            }
        }
        switch replay {
        case .enqueued:
            let done = write.dryRun ? "would be handled again" : "is handled again by the next free worker"
            context.messages.note("Event \(id) \(done).")
            return .ok
        case .unknown: throw CommandError(.notFound, "there is no event \(id)")
        case .unknownAccount: throw CommandError(.blocked, "event \(id) does not concern an account of this database")
        case .notKept:
            throw CommandError(.blocked, "event \(id) is about an address, which is not kept with the event")
        }
    }
}
