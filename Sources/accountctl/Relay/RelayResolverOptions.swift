import ArgumentParser
import MailRelay
import Settings

/// The name servers that the relay commands query.
struct RelayResolverOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "A recursive name server to ask; may be repeated. Default: the settings, then the system's.",
            valueName: "host:port"
        )
    )
    var resolver: [NameServerArgument] = []

    /// The configuration with the servers of the command line, or else those of the settings.
    func configuration(_ settings: [String]) -> ResolverConfiguration {
        let stated = resolver.map(\.server)
        return ResolverConfiguration(servers: stated.isEmpty ? settings.compactMap { NameServer($0) } : stated)
    }
}

/// A name server on the command line.
struct NameServerArgument: ExpressibleByArgument {
    let server: NameServer

    init?(argument: String) {
        guard let server = NameServer(argument) else { return nil }
        self.server = server
    }
}

extension CommandContext {
    /// Gives `body` a resolver; an invalid setting of another section does not prevent this.
    func withResolver<Result: Sendable>(
        _ options: RelayResolverOptions,
        _ body: (CaresResolver) async throws -> Result
    ) async throws -> Result {
        var servers: [String] = []
        if options.resolver.isEmpty {
            servers = try settings(needing: ["mail."]).mail.resolvers
        }
        return try await CaresResolver.withResolver(options.configuration(servers), body)
    }
}

extension DomainInputError: ReportableError {
    var report: CommandError { CommandError(.usage, description) }
}

extension CaresError: ReportableError {
    var report: CommandError { CommandError(.temporary, description) }
}
