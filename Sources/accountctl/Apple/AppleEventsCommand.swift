import AccountLifecycle
import ArgumentParser
import Terminal

/// Groups the commands about credential events, which come from Apple, devices and our own checks.
struct AppleEventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "List, show and replay what Apple, devices and checks reported about credentials.",
        subcommands: [AppleEventsListCommand.self, AppleEventsShowCommand.self, AppleEventsReplayCommand.self],
        aliases: ["event"]
    )

    static let fields: [Field<CredentialBooks.EventRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("source", "From") { .text($0.source) },
        Field("kind", "Event") { .text($0.kind) },
        Field("outcome", "Outcome", emphasis: { $0.outcome == nil ? .caution : .none }) {
            .text($0.outcome ?? EventOutcomes.waiting)
        },
        Field("user_id", "User") { .uuid($0.user) },
        Field("client_id", nil, detail: "Client id") { .text($0.clientID) },
        Field("happened_at", "Happened") { .date($0.happenedAt) },
        Field("received_at", nil, detail: "Received") { .date($0.receivedAt) },
        Field("handled_at", "Handled") { .date($0.handledAt) },
    ]
}
