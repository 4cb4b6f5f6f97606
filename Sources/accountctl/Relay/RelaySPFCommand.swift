import ArgumentParser
import MailRelay
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Evaluates SPF for one sender.
struct RelaySPFCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "spf",
        abstract: "Evaluate SPF for one sender, as a receiver would.",
        discussion: """
            Needs no database. The result is data: the command succeeds whatever it is.

            EXAMPLES
              accountctl relay spf --ip 192.0.2.25 --from bounce@send.example.com --helo out.esp.example
              accountctl relay spf --ip 2001:db8::25 --from '' --helo out.esp.example --resolver 127.0.0.1:5353 --json
            """
    )

    static let outputFields = [
        "ip", "from", "helo", "result", "reason", "domain", "term", "explanation", "terms", "voids", "trace",
    ]

    @OptionGroup
    var resolver: RelayResolverOptions

    @Option(name: .long, help: ArgumentHelp("The address of the sending client, IPv4 or IPv6.", valueName: "address"))
    var ip: String

    @Option(name: .long, help: ArgumentHelp("The envelope sender; empty for a bounce.", valueName: "address"))
    var from: String

    @Option(name: .long, help: ArgumentHelp("The name that the client gave in HELO or EHLO.", valueName: "name"))
    var helo: String

    @Option(name: .long, help: ArgumentHelp("The name of the receiver in explanations.", valueName: "name"))
    var receiver = "unknown"

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let address = IPAddress(ip) else {
            throw CommandError(.usage, "--ip: \"\(SafeText.line(ip))\" is not an IP address")
        }
        try Self.checkASCII("--from", from[(from.lastIndex(of: "@") ?? from.startIndex)...])
        try Self.checkASCII("--helo", helo[...])
        let query = SPFQuery(address: address, mailFrom: from, helo: helo)
        let evaluation = try await context.withResolver(resolver) { resolver in
            await SPFEvaluator(CachingResolver(resolver), receiver: receiver, tracing: true)
                .evaluate(
                    query,
                    by: .now.advanced(by: .seconds(20)),
                    timestamp: Int64(context.now().timeIntervalSince1970)
                )
        }
        try context.output.show(sheet(address, evaluation))
        return .ok
    }

    /// Refuses a domain outside ASCII: DNS stores its ASCII form, and a query for the name as typed would find no
    /// policy.
    private static func checkASCII(_ option: String, _ domain: Substring) throws {
        guard domain.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw CommandError(.usage, "\(option): write the domain in its ASCII form, which begins with xn--")
        }
    }

    private func sheet(_ address: IPAddress, _ evaluation: SPFEvaluation) -> Sheet {
        let emphasis: Emphasis =
            switch evaluation.result {
            case .pass: .good
            case .fail, .permerror: .bad
            case .none, .neutral, .softfail, .temperror: .caution
            }
        return Sheet([
            Sheet.Section(
                .facts([
                    Sheet.Fact("ip", "Client", .text(address.description)),
                    Sheet.Fact(
                        "from",
                        "From",
                        .text(from),
                        shown: from.isEmpty ? "(empty: the HELO name counts)" : from
                    ),
                    Sheet.Fact("helo", "HELO", .text(helo)),
                    Sheet.Fact("result", "Result", .text(evaluation.result.rawValue), emphasis),
                    Sheet.Fact("reason", "Because", .text(evaluation.problem?.description)),
                    Sheet.Fact("domain", "Decided by", .text(evaluation.match?.domain.description)),
                    Sheet.Fact("term", "Term", .text(evaluation.match?.term)),
                    Sheet.Fact("explanation", "Explanation", .text(evaluation.explanation)),
                    Sheet.Fact("terms", "Terms used", .integer(evaluation.terms), shown: "\(evaluation.terms) of 10"),
                    Sheet.Fact("voids", "Voids used", .integer(evaluation.voids), shown: "\(evaluation.voids) of 2"),
                ])
            ),
            Sheet.Section(
                "trace",
                title: "Trace",
                .table(
                    [
                        TableColumn("Depth", alignment: .right), TableColumn("Domain"), TableColumn("Term"),
                        TableColumn("Outcome"),
                    ],
                    rows: evaluation.trace.map { step in
                        [.integer(step.depth), .text(step.domain), .text(step.term), .text(step.outcome)]
                    },
                    names: ["depth", "domain", "term", "outcome"]
                )
            ),
        ])
    }
}
