import AccountLifecycle
import ArgumentParser
import MailRelay
import Terminal

/// Shows one stream: its declaration, its verdict and what changed.
struct RelayStreamShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a mail stream, its last checks and what changed between them.",
        discussion: """
            EXAMPLES
              accountctl relay stream show news
              accountctl relay stream show news --checks 50 --json
            """
    )

    static let outputFields = ["name", "declared", "standing", "findings", "checks", "differences"]

    static let sectionFields = [
        "declared.from_domain", "declared.envelope_domain", "declared.signing_domain", "declared.provider",
        "declared.includes", "declared.addresses", "declared.return_path_target", "declared.selectors",
        "declared.registered", "declared.created_at", "standing.spf", "standing.dkim", "standing.reachable",
        "standing.confirmed_at", "standing.changed_at", "standing.unknown_since", "standing.pending",
        "standing.checked_at", "standing.next_check_at",
    ]

    @Option(name: .long, help: ArgumentHelp("How many checks to show at most.", valueName: "count"))
    var checks = 20

    @Argument(help: "The name of the stream.")
    var name: String

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        guard (1...1000).contains(checks) else { throw ValidationError("--checks must be from 1 to 1000") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let name = name
        let count = checks
        let found = try await context.withConnection { connection -> (MailStreamRecord, [StoredMailCheck])? in
            guard let record = try MailStreamStore.find(named: name, on: connection) else { return nil }
            return (record, try MailCheckStore.latest(count, ofStream: record.id, on: connection))
        }
        guard let (record, checks) = found else { throw CommandError.noStream(name) }
        try context.output.show(Self.sheet(record, checks))
        return .ok
    }

    private static func sheet(_ record: MailStreamRecord, _ checks: [StoredMailCheck]) -> Sheet {
        Sheet([
            Sheet.Section(.facts([Sheet.Fact("name", "Stream", .text(record.stream.name))])),
            Sheet.Section("declared", title: "Declared", .facts(declared(record))),
            Sheet.Section("standing", title: "Standing", .facts(standing(record))),
            Sheet.Section(
                "findings",
                title: "Findings of the last check",
                .table(
                    [
                        TableColumn("Code"), TableColumn("Severity"), TableColumn("Subject"), TableColumn("What"),
                        TableColumn("Publish"),
                    ],
                    rows: (checks.first?.findings ?? []).map {
                        [.text($0.code), .text($0.severity), .text($0.subject), .text($0.summary), .text($0.publish)]
                    },
                    names: ["code", "severity", "subject", "summary", "publish"]
                )
            ),
            Sheet.Section(
                "checks",
                title: "Checks",
                .table(
                    [
                        TableColumn("Checked"), TableColumn("SPF"), TableColumn("DKIM"), TableColumn("Reachable"),
                        TableColumn("End"), TableColumn("Settled"),
                    ],
                    rows: checks.map {
                        [
                            .date($0.checkedAt), .text($0.spf), .text($0.dkim), .text($0.reachable),
                            .text($0.conclusion),
                            .bool($0.isChange),
                        ]
                    },
                    names: ["checked_at", "spf", "dkim", "reachable", "conclusion", "settled"],
                    whenEmpty: "not checked yet"
                )
            ),
            Sheet.Section(
                "differences",
                title: "Differences",
                .table(
                    [TableColumn("Checked"), TableColumn("What"), TableColumn("Before"), TableColumn("After")],
                    rows: zip(checks, checks.dropFirst()).flatMap { after, before in
                        differences(MailCheckDifference(from: before, to: after), after)
                    },
                    names: ["checked_at", "what", "before", "after"],
                    whenEmpty: "nothing changed"
                )
            ),
        ])
    }

    private static func differences(_ difference: MailCheckDifference, _ check: StoredMailCheck) -> [[OutputValue]] {
        let at = OutputValue.date(check.checkedAt)
        return difference.verdicts.map { [at, .text($0), .null, .null] }
            + difference.appeared.map { [at, .text("\($0.code) at \($0.subject)"), .null, .text($0.summary)] }
            + difference.gone.map { [at, .text("\($0.code) at \($0.subject)"), .text($0.summary), .null] }
            + difference.answers.map { [at, .text($0.question), .text($0.before), .text($0.after)] }
    }

    private static func declared(_ record: MailStreamRecord) -> [Sheet.Fact] {
        let stream = record.stream
        func names(_ names: [String]) -> OutputValue { .list(names.map { .text($0) }) }
        return [
            Sheet.Fact("from_domain", "From domain", .text(stream.fromDomain.description)),
            Sheet.Fact("envelope_domain", "Envelope domain", .text(stream.envelopeDomain.description)),
            Sheet.Fact("signing_domain", "Signing domain", .text(stream.signingDomain.description)),
            Sheet.Fact("provider", "Provider", .text(stream.provider.name)),
            Sheet.Fact("includes", "Includes", names(stream.provider.includes.map(\.description))),
            Sheet.Fact("addresses", "Addresses", names(stream.provider.addresses.map(\.description))),
            Sheet.Fact(
                "return_path_target",
                "Return path target",
                .text(stream.provider.returnPathTarget?.description)
            ),
            Sheet.Fact(
                "selectors",
                "Selectors",
                names(stream.selectors.map(Self.selector))
            ),
            registered(record.registrations),
            Sheet.Fact("created_at", "Declared at", .date(record.createdAt)),
        ]
    }

    /// The names registered with Apple, with those who declared them.
    private static func registered(_ registrations: [MailStreamRecord.Registration]?) -> Sheet.Fact {
        let told = (registrations ?? []).map { "\($0.name) (by \($0.by))" }
        let list = registrations.map { all in
            OutputValue.list(all.map { .object(["name": .text($0.name), "by": .text($0.by)]) })
        }
        return Sheet.Fact(
            "registered",
            "Registered",
            list ?? .null,
            shown: told.isEmpty ? nil : told.joined(separator: ", ")
        )
    }

    /// The selector as it was declared.
    private static func selector(_ selector: MailStream.Selector) -> String {
        if let target = selector.target { return "\(selector.name)=\(target)" }
        return selector.name + (selector.key.map { "=p=\($0)" } ?? "")
    }

    private static func standing(_ record: MailStreamRecord) -> [Sheet.Fact] {
        let known = record.standing.known
        let pending = record.standing.pending
        return [
            Sheet.Fact("spf", "SPF path", .text(known?.spf.rawValue), known?.spf.emphasis ?? .none),
            Sheet.Fact("dkim", "DKIM path", .text(known?.dkim.rawValue), known?.dkim.emphasis ?? .none),
            Sheet.Fact("reachable", "Reachable", .text(known?.reachable.rawValue), known?.reachable.emphasis ?? .none),
            Sheet.Fact("confirmed_at", "Confirmed", .date(record.standing.confirmedAt)),
            Sheet.Fact("changed_at", "Changed", .date(record.standing.changedAt)),
            Sheet.Fact("unknown_since", "Unknown since", .date(record.standing.unknownSince)),
            Sheet.Fact(
                "pending",
                "Waits for a second check",
                .text(pending.map { "SPF \($0.spf.rawValue), DKIM \($0.dkim.rawValue)" })
            ),
            Sheet.Fact("checked_at", "Checked", .date(record.checkedAt)),
            Sheet.Fact("next_check_at", "Next check", .date(record.nextCheckAt)),
        ]
    }
}
