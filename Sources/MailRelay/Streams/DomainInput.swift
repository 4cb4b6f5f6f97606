/// Parses a domain, selector or key as people type it, and recognises what they typed instead.
package enum DomainInput {
    /// Parses a domain that could send mail: at least two labels of letters, digits, hyphens and underscores.
    ///
    /// Throws ``DomainInputError`` for URLs, e-mail and IP addresses, names outside ASCII and malformed names, with a
    /// correction where one is known.
    package static func domain(_ text: String) throws(DomainInputError) -> DomainName {
        let trimmed = String(decoding: Array(text.utf8)[...].trimmed, as: UTF8.self)
        guard !trimmed.isEmpty else { throw DomainInputError(text, .empty) }
        guard trimmed.utf8.allSatisfy({ $0 < 0x80 }) else { throw DomainInputError(text, .notASCII) }
        if trimmed.contains("://") || trimmed.contains("/") { throw DomainInputError(text, .url(host(in: trimmed))) }
        if let at = trimmed.lastIndex(of: "@") {
            throw DomainInputError(text, .emailAddress(String(trimmed[trimmed.index(after: at)...])))
        }
        let undotted = trimmed.hasSuffix(".") ? String(trimmed.dropLast()) : trimmed
        let unbracketed =
            undotted.hasPrefix("[") && undotted.hasSuffix("]") ? String(undotted.dropFirst().dropLast()) : undotted
        guard IPAddress(unbracketed) == nil else { throw DomainInputError(text, .ipAddress) }
        let name: DomainName
        do {
            name = try DomainName(dotted: trimmed)
        } catch {
            throw DomainInputError(text, .malformed(error))
        }
        if let byte = trimmed.utf8.first(where: { !$0.isLetterOrDigit && !"-_.".utf8.contains($0) }) {
            throw DomainInputError(text, .badCharacter(PrintableBytes.escaped([byte])))
        }
        guard name.labelCount > 1 else { throw DomainInputError(text, .singleLabel) }
        return name
    }

    /// Parses a selector: the part before `._domainkey`.
    ///
    /// A full key name is reduced to its selector; one that belongs to another domain is an error.
    package static func selector(_ text: String, domain: DomainName) throws(DomainInputError) -> String {
        var text = text
        if text.hasSuffix(".") { text.removeLast() }
        let name: DomainName
        do {
            name = try DomainName(dotted: text)
        } catch {
            throw DomainInputError(text, .malformed(error))
        }
        if let byte = text.utf8.first(where: { !$0.isLetterOrDigit && !"-_.".utf8.contains($0) }) {
            throw DomainInputError(text, .badCharacter(PrintableBytes.escaped([byte])))
        }
        let labels = name.labels.map { String(decoding: $0, as: UTF8.self) }
        guard let key = labels.firstIndex(of: "_domainkey") else { return labels.joined(separator: ".") }
        let selector = labels[..<key].joined(separator: ".")
        let rest = labels[(key + 1)...].joined(separator: ".")
        guard !selector.isEmpty, rest.isEmpty || rest == domain.description else {
            throw DomainInputError(text, .selectorOfAnotherDomain(rest.isEmpty ? domain.description : rest))
        }
        return selector
    }

    /// Parses a DKIM key: the base64 text of `p=`, returned without white space.
    ///
    /// Anything else is refused, since a finding would advise publishing it, and an empty key would revoke the
    /// selector.
    package static func key(_ text: String) throws(DomainInputError) -> String {
        let record = DKIMKeyRecord(Array(DKIMKeyRecord.text(publishing: text).utf8))
        guard record.key != nil else { throw DomainInputError(text, .noKey) }
        return String(decoding: record.encodedKey, as: UTF8.self)
    }

    private static func host(in text: String) -> String? {
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        let host = rest.prefix { $0 != "/" && $0 != ":" && $0 != "?" && $0 != "#" }
        return host.isEmpty ? nil : String(host)
    }
}

/// Text that is not a valid domain, selector or key, and what it is instead.
package struct DomainInputError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text as typed.
    let text: String
    /// What the text is.
    let kind: Kind

    /// The kinds of invalid input.
    enum Kind: Sendable, Hashable {
        /// Nothing.
        case empty
        /// A URL, with the host in it.
        case url(String?)
        /// An e-mail address, with its domain.
        case emailAddress(String)
        /// An IP address.
        case ipAddress
        /// Letters outside ASCII.
        case notASCII
        /// A character that the name must not contain.
        case badCharacter(String)
        /// Only one label.
        case singleLabel
        /// Not a name at all.
        case malformed(DomainNameError)
        /// A domain that serves ordinary mail, given as a relay domain.
        case neverRelay
        /// A full selector name that belongs to another domain.
        case selectorOfAnotherDomain(String)
        /// Text that holds no public key.
        case noKey
    }

    init(_ text: String, _ kind: Kind) {
        self.text = text
        self.kind = kind
    }

    /// The mistake and what to write instead.
    package var description: String {
        let shown = "“\(PrintableBytes.escaped(text.utf8))”"
        return switch kind {
        case .empty: "expected a domain, such as example.com"
        case .url(let host):
            "\(shown) is a URL, expected a domain" + (host.map { ": \(PrintableBytes.escaped($0.utf8))" } ?? "")
        case .emailAddress(let domain):
            "\(shown) is an e-mail address, expected a domain: \(PrintableBytes.escaped(domain.utf8))"
        case .ipAddress: "\(shown) is an IP address, expected a domain"
        case .notASCII: "\(shown) has letters outside ASCII: write the domain in its ASCII form, which begins with xn--"
        case .badCharacter(let character): "\(shown) holds “\(character)”, which such a name cannot contain"
        case .singleLabel: "\(shown) is a single label, expected a full domain"
        case .malformed(let error): "\(shown): \(error)"
        case .neverRelay: "\(shown) has ordinary mailboxes and is never a relay domain"
        case .selectorOfAnotherDomain(let rest): "\(shown) is not a selector of this domain (\(rest))"
        case .noKey: "\(shown) is not a DKIM key, expected the whole text after its p="
        }
    }
}
