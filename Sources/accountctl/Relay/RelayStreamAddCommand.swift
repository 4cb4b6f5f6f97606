import AccountLifecycle
import ArgumentParser
import MailRelay
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Declares a stream.
struct RelayStreamAddCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Declare a mail stream and have it checked.",
        discussion: """
            To change a stream, such as after you registered a name with Apple, declare all of it again with --replace:
            nothing of the old declaration is kept. The verdict stays until two checks agree on another.

            EXAMPLES
              accountctl relay stream add news example.com --envelope send.example.com --include _spf.esp.example \\
                --selector s1=s1.esp.example --registered example.com --registered send.example.com
              accountctl relay stream add news example.com --envelope send.example.com --include _spf.esp.example \\
                --selector s2=s2.esp.example --registered example.com --registered send.example.com --replace
            """
    )

    static let outputFields = ["id", "name", "from_domain", "envelope_domain", ActOutcome.field]

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var stream: RelayStreamOptions

    @Option(
        name: .long,
        help: ArgumentHelp("Who declares the registration. Default: the operator.", valueName: "name")
    )
    var by: String?

    @Flag(name: .long, help: "Declare an existing stream of this name again; its verdict and history stay.")
    var replace = false

    @Argument(help: "The name of the stream: a-z 0-9 _ -, without dots.")
    var name: String

    @Argument(help: "The From domain.")
    var domain: String

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        try OptionText.check("--by", by, limit: 200)
        try OptionText.refusePersonalData("--by", by, as: .words)
        if let provider = stream.provider, !provider.isEmpty {
            try OptionText.check("--provider", provider, limit: 100)
        }
        // The database keeps no more, and would name only its constraint.
        for (option, count, limit) in [
            ("--include", stream.include.count, 20), ("--address", stream.address.count, 200),
            // A signature names one, too.
            ("--selector", stream.selector.count, stream.signature == nil ? 20 : 19),
        ] where count > limit {
            throw ValidationError("\(option) may be given \(limit) times at most for a stream")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard MailStreamStore.isName(name) else { throw MailStreamError(code: .badName, name: SafeText.line(name)) }
        let declared = try stream.stream(named: name, from: try DomainInput.domain(domain))
        let signature = try context.signature(acting)
        let registrations = registrations(declared, by: signature.name, at: context.now())
        // A dry run adds the stream and rolls back, since the name may be taken.
        let isRehearsed = write.dryRun
        let isReplacing = replace
        let id = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: isRehearsed) { connection in
                try signature.log("mail.add_stream", facts: ["stream": name], on: connection)
                return try MailStreamStore.add(
                    declared,
                    registrations: registrations,
                    replacing: isReplacing,
                    on: connection
                )
            }
        }
        try context.output.show(
            Sheet(facts: [
                Sheet.Fact("id", "Id", isRehearsed ? .null : .integer(id)),
                Sheet.Fact("name", "Stream", .text(name)),
                Sheet.Fact("from_domain", "From domain", .text(declared.fromDomain.description)),
                Sheet.Fact("envelope_domain", "Envelope domain", .text(declared.envelopeDomain.description)),
                (isRehearsed ? ActOutcome.wouldBeDone : .done).fact,
            ])
        )
        if !isRehearsed {
            context.messages.note(
                "Two checks by a worker have to agree on a verdict; to check it now: accountctl relay check \(name)"
            )
        }
        return .ok
    }

    private func registrations(
        _ declared: MailStream,
        by actor: String,
        at moment: Date
    ) -> [MailStreamRecord.Registration]? {
        guard case .names(let names) = declared.registration else { return nil }
        return names.map { MailStreamRecord.Registration(name: $0.description, at: moment, by: by ?? actor) }
    }
}

extension MailStreamError: ReportableError {
    var report: CommandError {
        switch code {
        case .nameTaken:
            CommandError(
                .blocked,
                description,
                hint: "See: accountctl relay stream show \(name). --replace declares it again."
            )
        case .badName: CommandError(.usage, description)
        case .unreadable: CommandError(.failure, description)
        }
    }
}
