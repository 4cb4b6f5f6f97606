import AccountLifecycle
import ArgumentParser
import Terminal

/// Groups the commands about held credentials.
struct AppleCredentialsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials",
        abstract: "List and show held credentials, never their tokens.",
        subcommands: [AppleCredentialsListCommand.self, AppleCredentialsShowCommand.self],
        aliases: ["credential"]
    )

    static let fields: [Field<CredentialBooks.CredentialRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("user_id", "User") { .uuid($0.user) },
        Field("client_id", "Client id") { .text($0.clientID) },
        Field("obtained_at", "Obtained") { .date($0.obtainedAt) },
        Field("last_live_at", "Last seen alive") { .date($0.lastLiveAt) },
        Field("checked_at", "Checked") { .date($0.checkedAt) },
        Field("doubts", "Doubts", alignment: .right, emphasis: { $0.doubts > 0 ? .caution : .none }) {
            .integer($0.doubts)
        },
        Field("check_after", nil, detail: "Next check") { .date($0.checkAfter) },
        Field("sealing_key", "Key") { .text($0.sealingKey) },
    ]
}
