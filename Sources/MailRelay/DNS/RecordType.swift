/// A DNS record type by its number.
package struct RecordType: Hashable, Sendable, CustomStringConvertible {
    /// The number in the registry of RFC 6895.
    package let rawValue: UInt16

    /// Creates a record type from its number.
    init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// An IPv4 address.
    package static let a = RecordType(rawValue: 1)
    /// A name server.
    static let ns = RecordType(rawValue: 2)
    /// An alias.
    package static let cname = RecordType(rawValue: 5)
    /// The start of a zone of authority; in negative replies, it states how long they may be cached.
    static let soa = RecordType(rawValue: 6)
    /// A name for an address.
    package static let ptr = RecordType(rawValue: 12)
    /// A mail exchanger.
    package static let mx = RecordType(rawValue: 15)
    /// Text.
    package static let txt = RecordType(rawValue: 16)
    /// An IPv6 address.
    package static let aaaa = RecordType(rawValue: 28)
    /// The pseudo record of EDNS.
    static let opt = RecordType(rawValue: 41)
    /// The retired type of SPF records (RFC 7208, 3.1), queried only to advise against it.
    package static let spf = RecordType(rawValue: 99)

    /// The mnemonic, or `TYPE` and the number (RFC 3597).
    package var description: String {
        switch self {
        case .a: "A"
        case .ns: "NS"
        case .cname: "CNAME"
        case .soa: "SOA"
        case .ptr: "PTR"
        case .mx: "MX"
        case .txt: "TXT"
        case .aaaa: "AAAA"
        case .opt: "OPT"
        case .spf: "SPF"
        default: "TYPE\(rawValue)"
        }
    }
}
