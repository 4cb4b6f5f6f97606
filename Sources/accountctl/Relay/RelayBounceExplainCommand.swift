import ArgumentParser
import MailRelay
import Terminal

/// Explains a refusal.
struct RelayBounceExplainCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what a refusal means, and who can fix it.",
        discussion: """
            Reads an SMTP reply from its argument, or a reply or a whole delivery-status message from standard input.
            Needs no database. The same code (550 5.1.1) stands for opposite causes: the text decides.

            EXAMPLES
              accountctl relay bounce explain '550 5.1.1 <bounce@send.example.com>: unauthorized sender'
              accountctl relay bounce explain < bounce.eml

            EXIT CODES
              0 explained; 3 there is no reply in the input, or none that is known
            """
    )

    @Argument(help: "The reply, or - for standard input, which is the default.")
    var reply: [String] = []

    @OptionGroup
    var global: GlobalOptions

    private struct Row {
        let reply: BounceReply
        let explanation: BounceExplanation
    }

    private static let fields: [Field<Row>] = [
        Field("code", "Kind") { .text($0.explanation.code.rawValue) },
        Field("cause", "Cause", emphasis: { $0.explanation.cause.emphasis }) {
            .text($0.explanation.cause.rawValue)
        },
        Field("keeps_recipient", "Keep recipient") { .bool($0.explanation.keepsRecipient) },
        Field("meaning", "Meaning") { .text($0.explanation.meaning) },
        Field("action", "What to do") { .text($0.explanation.action) },
        Field("status", nil) { .integer($0.reply.status) },
        Field("enhanced_code", nil) { .text($0.reply.enhancedCode) },
        Field("recipient", "Recipient") { .personal($0.reply.recipient, .email) },
        Field("server", nil) { .text($0.reply.server) },
        Field("source", nil) { .text($0.explanation.source) },
    ]

    static let outputFields = fields.map(\.name)

    func run(in context: CommandContext) async throws -> ExitStatus {
        let input = reply.isEmpty || reply == ["-"] ? StandardInput.text() : reply.joined(separator: " ")
        let rows = BounceReply.replies(in: input.utf8).map { Row(reply: $0, explanation: BounceExplanation($0)) }
        guard !rows.isEmpty else { throw CommandError(.notFound, "there is no reply in the input") }
        if context.output.format == .table {
            try context.output.screen(rows.map { Sheet(facts: Sheet.facts(of: Self.fields, row: $0)) })
        } else {
            try context.output.list(rows, Self.fields)
        }
        return rows.contains { $0.explanation.code != .unrecognized } ? .ok : .notFound
    }
}

extension BounceExplanation.Cause {
    fileprivate var emphasis: Emphasis {
        switch self {
        case .configuration: .bad
        case .recipient: .none
        case .load, .unknown: .caution
        }
    }
}
