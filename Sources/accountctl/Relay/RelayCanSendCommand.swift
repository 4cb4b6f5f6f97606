import AccountLifecycle
import ArgumentParser
import MailRelay
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
        abstract: "Say whether mail of a stream may be sent to an account, why, and what to do about the stream.",
        discussion: """
            Your app's mailer can call the same function: select * from accountctl.can_send('news', user_id). Answer and
            reason are that function's, word for word.

            SPF and DKIM in a reason are the two paths to the relay: ok, weak, broken or unknown, as in relay stream
            show. One path that is ok or weak is enough if its name is registered with Apple and no domain's policy has
            the mail refused. The reason does not name these two conditions; if one is missing, the field todo does.

            EXIT CODES
              0 yes; 3 there is no such stream or account; 8 no, also for a user id without an account; 75 unknown

            EXAMPLES
              accountctl relay can-send --stream news --user abc123@privaterelay.appleid.com
            """
    )

    static let outputFields = ["stream", "user_id", "answer", "reason", "todo"]

    @Option(name: .long, help: ArgumentHelp("The name of the stream.", valueName: "name"))
    var stream: String

    @Option(name: .long, help: ArgumentHelp("The account: any term that user find accepts.", valueName: "term"))
    var user: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let account = try context.subject(typed: user)
        let stream = stream
        let (record, userID, found) = try await context.withConnection {
            connection -> (MailStreamRecord, UUID, RelayDirectory.CanSend) in
            guard let record = try MailStreamStore.find(named: stream, on: connection) else {
                throw CommandError.noStream(stream)
            }
            let userID = try account(connection)
            return (record, userID, try RelayDirectory.canSend(stream: stream, userID: userID, on: connection))
        }
        let todo = found.todo(about: record).map(context.messages.rewrite)
        try context.output.show(
            Sheet(facts: [
                Sheet.Fact("stream", "Stream", .text(stream)),
                Sheet.Fact("user_id", "User", .uuid(userID)),
                Sheet.Fact("answer", "Answer", .text(found.answer.rawValue), found.answer.emphasis),
                Sheet.Fact("reason", "Because", .text(found.reason)),
                Sheet.Fact("todo", "To do", .text(todo)),
            ])
        )
        return switch found.answer {
        case .yes: .ok
        case .no: .broken
        case .unknown: .temporary
        }
    }
}

extension RelayDirectory.CanSend {
    /// What an operator should do about the stream; nil if the answer does not depend on the stream.
    ///
    /// The reason names only the paths, SPF and DKIM, and both may be open while mail is still refused: the domain may
    /// not be registered with Apple, or its own policy may have the mail refused.
    fileprivate func todo(about record: MailStreamRecord) -> String? {
        let check = "accountctl relay check \(record.stream.name)"
        switch answer {
        case .yes: return nil
        case .no:
            // Recognised by the text of the database function, which looks at the account before the stream.
            guard reason.hasPrefix("the relay does not take") else { return nil }
            let paths = record.standing.known.map { [$0.spf, $0.dkim] } ?? []
            let isAnyOpen = paths.contains { $0 == .ok || $0 == .weak }
            let cause =
                isAnyOpen
                ? "a path is open, but its name is not registered with Apple, or a domain's policy has the mail refused"
                : "no path is open: something has to be published, or registered with Apple"
            return "\(cause); see \(check) --explain"
        case .unknown:
            guard let known = record.standing.known else {
                return "run a worker, since two checks have to agree; to check it now: \(check)"
            }
            return known.reachable == .unknown
                ? "something is missing or does not answer; see \(check) --explain"
                : "let a worker check it again; why the verdict is unknown: \(check) --explain"
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
