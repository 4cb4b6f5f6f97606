import AccountLifecycle
import ArgumentParser
import MailRelay
import Terminal

/// Checks a stream, or a domain without a database.
struct RelayCheckCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check whether mail of a stream or domain reaches the relay.",
        discussion: """
            A domain is checked without a database, with what you state on the command line. Selectors are never
            guessed: get them from the provider, or give the DKIM-Signature header of a mail that was sent.

            EXIT CODES
              0 mail gets through, and there is no advice; 7 mail gets through, but something should be fixed; 8 mail
              does not get through; 75 unknown: DNS did not answer, or too little was stated (nobody should be
              woken for it), or no stream is declared

            EXAMPLES
              accountctl relay check example.com --include _spf.esp.example --selector s1 --registered example.com
              accountctl relay check example.com --envelope send.example.com --selector s1=s1.esp.example --explain
            """
    )

    static let outputFields = [
        "stream", "from_domain", "envelope_domain", "spf", "dkim", "reachable", "robust", "conclusion", "registered",
        "findings", "answers",
    ]

    @OptionGroup
    var resolver: RelayResolverOptions

    @OptionGroup
    var stream: RelayStreamOptions

    @Flag(name: .long, help: "Say for each finding why it matters and where the rule is defined.")
    var explain = false

    @Argument(help: "The name of a stream, or a domain. Default: every stream.")
    var subject: String?

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let streams = try await streams(context)
        if streams.isEmpty { context.messages.note("No mail stream is declared: accountctl relay stream add --help") }
        let reports =
            streams.isEmpty
            ? []
            : try await context.withResolver(resolver) { resolver in
                await Self.check(streams, CachingResolver(resolver))
            }
        if context.output.format == .table {
            try context.output.screen(reports.map { $0.sheet(explaining: explain) })
        } else if subject != nil, let report = reports.first {
            let members = report.object(explaining: explain)
            let facts = Self.outputFields.map { Sheet.Fact($0, $0, members[$0] ?? .null) }
            try context.output.show(Sheet(facts: facts))
        } else {
            let fields = Self.outputFields.map { name in
                Field<[String: OutputValue]>(name, nil) { $0[name] ?? .null }
            }
            try context.output.list(reports.map { $0.object(explaining: explain) }, fields)
        }
        if streams.isEmpty { return .temporary }
        return StreamReport.Conclusion.worst(reports.map(\.conclusion)).exitStatus
    }

    /// The streams to check: a domain described by the command line, one stored stream, or all of them.
    private func streams(_ context: CommandContext) async throws -> [MailStream] {
        guard let subject else {
            try refuseOptions("all streams")
            return try await context.withConnection { connection in
                try MailStreamStore.all(on: connection).map(\.stream)
            }
        }
        guard MailStreamStore.isName(subject) else {
            return [try stream.stream(named: subject, from: try DomainInput.domain(subject))]
        }
        try refuseOptions("a stored stream")
        let found = try await context.withConnection { connection in
            try MailStreamStore.find(named: subject, on: connection)?.stream
        }
        guard let found else {
            throw CommandError(
                .notFound,
                "there is no stream \"\(subject)\"",
                hint: "See: accountctl relay stream list. A domain has a dot in it."
            )
        }
        return [found]
    }

    private func refuseOptions(_ what: String) throws {
        guard stream.isEmpty else {
            throw CommandError(.usage, "a stream's declaration is stored with it: leave out the options for \(what)")
        }
    }

    /// Checks the streams concurrently; they share answers, and the resolver bounds the number of queries.
    private static func check(_ streams: [MailStream], _ resolver: CachingResolver) async -> [StreamReport] {
        let checker = StreamChecker(resolver)
        let deadline = ContinuousClock.now.advanced(by: StreamChecker.timeLimit)
        return await withTaskGroup(of: (Int, StreamReport).self) { group in
            for (index, stream) in streams.enumerated() {
                group.addTask { (index, await checker.check(stream, by: deadline)) }
            }
            var reports: [(Int, StreamReport)] = []
            for await report in group { reports.append(report) }
            return reports.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
