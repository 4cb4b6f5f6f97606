/// The data of one record, decoded for the types that the checks query.
package enum RecordData: Hashable, Sendable {
    /// An IPv4 address.
    case a(IPv4Address)
    /// An IPv6 address.
    case aaaa(IPv6Address)
    /// The target of a CNAME.
    case cname(DomainName)
    /// The target of a PTR.
    case ptr(DomainName)
    /// A name server's name.
    case ns(DomainName)
    /// A mail exchanger: preference (lower first) and host; the root means "no mail" (RFC 7505).
    case mx(preference: UInt16, exchange: DomainName)
    /// The strings of a TXT or SPF record, as separate byte arrays.
    case text([[UInt8]])
    /// A SOA, reduced to the time in seconds that a negative reply may be cached.
    case soa(minimum: UInt32)
    /// Any other type, undecoded.
    case other([UInt8])
}

/// One record of a reply.
struct ResourceRecord: Hashable, Sendable {
    /// The owner name.
    let name: DomainName
    /// The record's type.
    let type: RecordType
    /// The record's class; 1 is IN.
    let recordClass: UInt16
    /// The TTL in seconds.
    let ttl: UInt32
    /// The record's data.
    let data: RecordData
}

extension RecordData: CustomStringConvertible {
    /// The data in zone-file form; text strings are quoted and unprintable bytes escaped.
    package var description: String {
        switch self {
        case .a(let address): address.description
        case .aaaa(let address): address.description
        case .cname(let name), .ptr(let name), .ns(let name): name.description
        case .mx(let preference, let exchange): "\(preference) \(exchange)"
        case .text(let strings): Self.quoted(strings)
        case .soa(let minimum): "minimum \(minimum)"
        case .other(let bytes): "\(bytes.count) bytes"
        }
    }

    /// The strings, each in quotation marks.
    static func quoted(_ strings: [[UInt8]]) -> String {
        strings.map {
            "\""
                + PrintableBytes.escaped($0).split(separator: "\"", omittingEmptySubsequences: false).joined(
                    separator: "\\\""
                ) + "\""
        }
        .joined(separator: " ")
    }
}

extension LookupOutcome.Answer {
    /// The strings of each text record.
    var texts: [[[UInt8]]] {
        records.compactMap { if case .text(let strings) = $0 { strings } else { nil } }
    }
}

extension [[UInt8]] {
    /// The strings of a text record, joined.
    var joinedBytes: [UInt8] { count == 1 ? self[0] : reduce(into: []) { $0 += $1 } }
}
