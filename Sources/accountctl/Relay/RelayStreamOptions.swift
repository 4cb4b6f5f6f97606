import ArgumentParser
import MailRelay

/// The options that describe a mail stream.
struct RelayStreamOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("The domain of the envelope sender. Default: the From domain.", valueName: "domain")
    )
    var envelope: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The domain that signs (d=). Default: the From domain.", valueName: "domain")
    )
    var signing: String?

    @Option(name: .long, help: ArgumentHelp("The name of the provider.", valueName: "name"))
    var provider: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A name whose SPF policy lists the provider's addresses; may be repeated.",
            valueName: "domain"
        )
    )
    var include: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("An address or range the provider sends from; may be repeated.", valueName: "address[/bits]")
    )
    var address: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("The name that the envelope domain must be an alias of.", valueName: "domain")
    )
    var returnPathTarget: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A DKIM selector, with the alias it must have or the key it must hold; may be repeated.",
            valueName: "selector[=target|p=key]"
        )
    )
    var selector: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("A DKIM-Signature header to take selector and signing domain from.", valueName: "header")
    )
    var signature: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A name registered with Apple, or none; may be repeated.", valueName: "domain")
    )
    var registered: [String] = []

    /// Whether no option was given.
    var isEmpty: Bool {
        envelope == nil && signing == nil && provider == nil && include.isEmpty && address.isEmpty
            && returnPathTarget == nil && selector.isEmpty && signature == nil && registered.isEmpty
    }

    /// The stream that the options describe; throws ``CommandError`` that names a malformed option.
    func stream(named name: String, from domain: DomainName) throws -> MailStream {
        var stream = MailStream(
            name: name,
            fromDomain: domain,
            envelopeDomain: try envelope.map { try Self.domain($0, "--envelope") },
            signingDomain: try signing.map { try Self.domain($0, "--signing") },
            provider: MailStream.Provider(
                // A script may give an empty one.
                name: provider.flatMap { $0.isEmpty ? nil : $0 },
                includes: try include.map { try Self.domain($0, "--include") },
                returnPathTarget: try returnPathTarget.map { try Self.domain($0, "--return-path-target") },
                addresses: try address.map { try Self.network($0) }
            )
        )
        if let signature {
            guard let header = DKIMSignatureHeader(signature) else {
                throw CommandError(.usage, "--signature: there is no d= and s= in this header")
            }
            stream.signingDomain = header.domain
            stream.selectors.append(MailStream.Selector(header.selector))
        }
        for text in selector { stream.selectors.append(try Self.selector(text, stream.signingDomain)) }
        if !registered.isEmpty {
            stream.registration = .names(
                registered == ["none"] ? [] : try registered.map { try Self.domain($0, "--registered") }
            )
        }
        return stream
    }

    private static func domain(_ text: String, _ option: String) throws -> DomainName {
        try told(of: option) { () throws(DomainInputError) in try DomainInput.domain(text) }
    }

    /// Reads a name, and reports a problem with it under the option that holds it.
    private static func told<Value>(of option: String, _ read: () throws(DomainInputError) -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            throw CommandError(.usage, "\(option): \(error)")
        }
    }

    private static func network(_ text: String) throws -> IPNetwork {
        guard let network = IPNetwork(text) else {
            throw CommandError(
                .usage,
                "--address: \"\(PrintableBytes.escaped(text.utf8))\" is not an address or a range"
            )
        }
        return network
    }

    private static func selector(_ text: String, _ domain: DomainName) throws -> MailStream.Selector {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = try told(of: "--selector") { () throws(DomainInputError) in
            try DomainInput.selector(parts[0], domain: domain)
        }
        guard parts.count == 2 else { return MailStream.Selector(name) }
        if parts[1].hasPrefix("p=") {
            let key = try told(of: "--selector") { () throws(DomainInputError) in
                try DomainInput.key(String(parts[1].dropFirst(2)))
            }
            return MailStream.Selector(name, key: key)
        }
        return MailStream.Selector(name, target: try Self.domain(parts[1], "--selector"))
    }
}
