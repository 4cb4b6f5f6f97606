/// The bytes of a query for one question.
struct DNSQuery: Sendable {
    /// The largest datagram requested, which crosses every path unfragmented (DNS flag day 2020).
    static let datagramSize: UInt16 = 1232

    /// The question to send.
    let question: Question
    /// Whether to ask a validating server for data that it could not validate (CD).
    let checkingDisabled: Bool
    /// Whether the query carries an EDNS record; some servers reject such a query as malformed.
    let hasEDNS: Bool

    /// Creates a query; `checkingDisabled` tells a DNSSEC failure from a server that is simply broken.
    init(_ question: Question, checkingDisabled: Bool = false, hasEDNS: Bool = true) {
        self.question = question
        self.checkingDisabled = checkingDisabled
        self.hasEDNS = hasEDNS
    }

    /// The message on the wire: recursion and authenticated data requested, one question, and one EDNS record at the
    /// end.
    ///
    /// The EDNS record has no options and comes last because c-ares cuts exactly that off for servers that refuse EDNS.
    func bytes(id: UInt16) -> [UInt8] {
        let flags: UInt16 = 0x0100 | 0x0020 | (checkingDisabled ? 0x0010 : 0)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(12 + question.name.wire.count + 5 + 11)
        for word in [id, flags, 1, 0, 0, hasEDNS ? 1 : 0] { bytes.append(bigEndian: word) }
        bytes.append(contentsOf: question.name.wire)
        bytes.append(0)
        bytes.append(bigEndian: question.type.rawValue)
        bytes.append(bigEndian: 1)
        guard hasEDNS else { return bytes }
        bytes.append(0)
        bytes.append(bigEndian: RecordType.opt.rawValue)
        bytes.append(bigEndian: Self.datagramSize)
        for word in [0, 0, 0] as [UInt16] { bytes.append(bigEndian: word) }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian word: UInt16) {
        append(UInt8(truncatingIfNeeded: word >> 8))
        append(UInt8(truncatingIfNeeded: word))
    }
}
