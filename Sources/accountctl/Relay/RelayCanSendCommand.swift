import AccountLifecycle
import ArgumentParser
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Says whether mail of a stream may be sent to an account.
struct RelayCanSendCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "can-send",
        abstract: "Say whether mail of a stream may be sent to an account, and why.",
        discussion: """
            The app's own mailer asks the same: select * from accountctl.can_send('news', user_id).

            EXIT CODES
              0 yes; 3 there is no such stream; 8 no; 75 it cannot be told

            EXAMPLES
              accountctl relay can-send --stream news --user 6a4b2f0e-0000-4000-8000-000000000000
            """
    )

    static let outputFields = ["stream", "user_id", "answer", "reason"]

    @OptionGroup
    var global: GlobalOptions

    @Option(name: .long, help: ArgumentHelp("The name of the stream.", valueName: "name"))
    var stream: String

    @Option(name: .long, help: ArgumentHelp("The account's user id.", valueName: "id"))
    var user: String

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let userID = UUID(uuidString: user) else {
            throw CommandError(
                .usage,
                "--user: \"\(SafeText.line(user))\" is no user id",
                hint: "Find it: accountctl user find"
            )
        }
        let stream = stream
        let found = try await context.withConnection { connection in
            guard try MailStreamStore.find(named: stream, on: connection) != nil else {
                throw CommandError(
                    .notFound,
                    "there is no stream \"\(SafeText.line(stream))\"",
                    hint: "See: accountctl relay stream list"
                )
            }
            return try RelayDirectory.canSend(stream: stream, userID: userID, on: connection)
        }
        try context.output.show(
            Sheet([
                Sheet.Section(
                    .facts([
                        Sheet.Fact("stream", "Stream", .text(stream)),
                        Sheet.Fact("user_id", "User", .uuid(userID)),
                        Sheet.Fact("answer", "Answer", .text(found.answer.rawValue), found.answer.emphasis),
                        Sheet.Fact("reason", "Because", .text(found.reason)),
                    ])
                )
            ])
        )
        return switch found.answer {
        case .yes: .ok
        case .no: .broken
        case .unknown: .temporary
        }
    }
}

extension RelayDirectory.CanSend.Answer {
    fileprivate var emphasis: Emphasis {
        switch self {
        case .yes: .good
        case .no: .bad
        case .unknown: .caution
        }
    }
}
