/// The data of one record, decoded for the types this product asks for.
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
    /// A mail exchanger: preference (lower first) and host; the root stands for "no mail" (RFC 7505).
    case mx(preference: UInt16, exchange: DomainName)
    /// The strings of a TXT or SPF record, as bytes, with their boundaries.
    case text([[UInt8]])
    /// What matters of a SOA: how many seconds a negative reply may be kept.
    case soa(minimum: UInt32)
    /// Any other type, undecoded.
    case other([UInt8])
}

/// One record of a reply.
struct ResourceRecord: Hashable, Sendable {
    /// Whose record it is.
    let name: DomainName
    /// The record's type.
    let type: RecordType
    /// The record's class; 1 is IN.
    let recordClass: UInt16
    /// How many seconds it may be kept.
    let ttl: UInt32
    /// What it says.
    let data: RecordData
}

extension RecordData: CustomStringConvertible {
    /// The data as zone files write it; the strings of a text quoted, odd bytes escaped.
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

    /// Strings in quotation marks, with their boundaries.
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

extension [[UInt8]] {
    /// The strings of a text as one.
    var joinedBytes: [UInt8] { count == 1 ? self[0] : reduce(into: []) { $0 += $1 } }
}
