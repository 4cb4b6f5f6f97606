/// A published policy, checked for syntax and ready to be evaluated.
///
/// Its terms are ranges of its text, so parsing a record copies no bytes.
struct SPFRecord: Sendable, Hashable {
    /// The strings of the record, joined.
    let text: [UInt8]
    /// The mechanisms in order.
    var directives: [SPFDirective] = []
    /// The target of `redirect=`.
    var redirect: SPFDomainSpec?
    /// The target of `exp=`.
    var explanation: SPFDomainSpec?
    /// Names of unknown modifiers, which evaluation ignores (RFC 7208, 6).
    var unknownModifiers: [String] = []

    /// Creates a record that is not parsed yet.
    init(unread text: [UInt8]) {
        self.text = text
    }

    /// A term as published.
    func shown(_ directive: SPFDirective) -> String { String(decoding: text[directive.source], as: UTF8.self) }

    /// A domain as written in the record.
    func shown(_ domain: SPFDomainSpec) -> String { String(decoding: text[domain.source], as: UTF8.self) }

    /// The domain in the record as a name; nil if it has macros or is malformed.
    func name(_ domain: SPFDomainSpec) -> DomainName? {
        domain.hasMacros ? nil : try? DomainName(dotted: text[domain.source])
    }

    /// Whether a TXT record is a policy of this version (RFC 7208, 4.5): the version, then a space or nothing.
    static func isPolicy(_ text: [UInt8]) -> Bool {
        guard text.count == 6 || text.count > 6 && text[6] == UInt8(ascii: " ") else { return false }
        let version = text[..<6]
        return version.span.equalsIgnoringCase("v=spf1")
    }
}

/// A mechanism with its qualifier.
struct SPFDirective: Sendable, Hashable {
    /// The result of a match.
    let result: SPFResult
    /// The mechanism to match.
    let mechanism: SPFMechanism
    /// The range of the term in the record.
    let source: Range<Int>
}

/// A test that a directive applies to the sender (RFC 7208, 5).
enum SPFMechanism: Sendable, Hashable {
    /// Matches every sender.
    case all
    /// Matches a sender that passes another domain's policy.
    case include(SPFDomainSpec)
    /// The addresses of a name; nil means the current domain.
    case a(SPFDomainSpec?, SPFPrefixLengths)
    /// The addresses of a name's mail exchangers.
    case mx(SPFDomainSpec?, SPFPrefixLengths)
    /// Clients whose reverse name lies within a domain.
    case ptr(SPFDomainSpec?)
    /// A range of addresses.
    case ip(IPNetwork)
    /// Matches if a name exists.
    case exists(SPFDomainSpec)

    /// Whether the mechanism counts among the ten terms that may cause lookups (RFC 7208, 4.6.4).
    var causesLookup: Bool {
        switch self {
        case .all, .ip: false
        case .include, .a, .mx, .ptr, .exists: true
        }
    }
}

/// How many leading bits of an address must match.
struct SPFPrefixLengths: Sendable, Hashable {
    /// The bits of an IPv4 address, 0 to 32.
    var v4: UInt8 = 32
    /// The bits of an IPv6 address, 0 to 128.
    var v6: UInt8 = 128
}

/// A domain in a record, possibly with macros.
struct SPFDomainSpec: Sendable, Hashable {
    /// The range of the domain in the record.
    let source: Range<Int>
    /// Whether the domain contains macros and so depends on the sender.
    let hasMacros: Bool
}

/// A syntax error in a record; every evaluation then results in "permerror".
package struct SPFSyntaxError: Error, Hashable, Sendable {
    /// The kinds of syntax errors, each with its own advice.
    enum Code: String, Error, Hashable {
        /// An unknown mechanism.
        case unknownMechanism
        /// A mechanism without its required domain or address.
        case missingArgument
        /// An argument to a mechanism that takes none.
        case unexpectedArgument
        /// An invalid domain.
        case badDomain
        /// An invalid macro.
        case badMacro
        /// An invalid IPv4 address.
        case badIPv4
        /// An invalid IPv6 address.
        case badIPv6
        /// A prefix length that is out of range or malformed.
        case badPrefixLength
        /// `redirect=` or `exp=` twice.
        case duplicateModifier
        /// An invalid modifier name.
        case badModifierName
        /// A byte that is not printable ASCII.
        case badByte
    }

    /// The kind of error.
    let code: Code
    /// The term with the error, as published.
    let term: ArraySlice<UInt8>
}
