/// A policy as a domain publishes it, checked for syntax and ready to be evaluated.
///
/// Its terms are ranges of its text: taking a record apart copies nothing.
struct SPFRecord: Sendable, Hashable {
    /// The strings of the record, joined.
    let text: [UInt8]
    /// The mechanisms in their order.
    var directives: [SPFDirective] = []
    /// The target of `redirect=`.
    var redirect: SPFDomainSpec?
    /// The target of `exp=`.
    var explanation: SPFDomainSpec?
    /// Names of modifiers that mean nothing here; evaluation ignores them (RFC 7208, 6).
    var unknownModifiers: [String] = []

    /// A record of which nothing is read yet.
    init(unread text: [UInt8]) {
        self.text = text
    }

    /// A term as published.
    func shown(_ directive: SPFDirective) -> String { String(decoding: text[directive.source], as: UTF8.self) }

    /// A domain as it stands in the record.
    func shown(_ domain: SPFDomainSpec) -> String { String(decoding: text[domain.source], as: UTF8.self) }

    /// The name that a domain in the record is, where it holds no macros and is well formed.
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
    /// What a match means.
    let result: SPFResult
    /// What is matched.
    let mechanism: SPFMechanism
    /// Where the term stands in the record.
    let source: Range<Int>
}

/// What a directive compares the sender with (RFC 7208, 5).
enum SPFMechanism: Sendable, Hashable {
    /// Everyone.
    case all
    /// Whoever passes another domain's policy.
    case include(SPFDomainSpec)
    /// The addresses of a name; nil stands for the current domain.
    case a(SPFDomainSpec?, SPFPrefixLengths)
    /// The addresses of a name's mail exchangers.
    case mx(SPFDomainSpec?, SPFPrefixLengths)
    /// Senders whose reverse name lies within a domain.
    case ptr(SPFDomainSpec?)
    /// A range of addresses.
    case ip(IPNetwork)
    /// Whether a name exists.
    case exists(SPFDomainSpec)

    /// Whether it counts among the ten terms that may cause lookups (RFC 7208, 4.6.4).
    var causesLookup: Bool {
        switch self {
        case .all, .ip: false
        case .include, .a, .mx, .ptr, .exists: true
        }
    }
}

/// How many leading bits of an address must agree.
struct SPFPrefixLengths: Sendable, Hashable {
    /// The bits of an IPv4 address, 0 to 32.
    var v4: UInt8 = 32
    /// The bits of an IPv6 address, 0 to 128.
    var v6: UInt8 = 128
}

/// A domain in a record, possibly with macros.
struct SPFDomainSpec: Sendable, Hashable {
    /// Where it stands in the record.
    let source: Range<Int>
    /// Whether expansion depends on the sender.
    let hasMacros: Bool
}

/// What in a record breaks the grammar; the result of every evaluation is then "permerror".
package struct SPFSyntaxError: Error, Hashable, Sendable {
    /// The kinds of mistakes, each with its own advice.
    enum Code: String, Error, Hashable {
        /// A mechanism nobody knows.
        case unknownMechanism
        /// A mechanism that needs a domain or an address has none.
        case missingArgument
        /// A mechanism that takes no argument has one.
        case unexpectedArgument
        /// A domain that is no domain.
        case badDomain
        /// A macro that is none.
        case badMacro
        /// An IPv4 address that is none.
        case badIPv4
        /// An IPv6 address that is none.
        case badIPv6
        /// A prefix length out of range or badly written.
        case badPrefixLength
        /// `redirect=` or `exp=` twice.
        case duplicateModifier
        /// A modifier whose name is none.
        case badModifierName
        /// A byte that is not printable ASCII.
        case badByte
    }

    /// What is wrong.
    let code: Code
    /// The term it is wrong in, as published.
    let term: ArraySlice<UInt8>
}
