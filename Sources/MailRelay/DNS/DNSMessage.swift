/// A DNS message, parsed from untrusted bytes.
///
/// Parsing is strict: every length must fit, and records of known types must fill their data exactly. A compression
/// pointer that does not point backwards is refused, so parsing cannot loop.
package struct DNSMessage: Sendable {
    /// The 16-bit identifier that pairs a reply with its query.
    package let id: UInt16
    /// The flag word of the header.
    let flags: UInt16
    /// The questions, normally exactly one.
    package let questions: [(question: Question, questionClass: UInt16)]
    /// The answer section.
    let answers: [ResourceRecord]
    /// The authority section.
    let authorities: [ResourceRecord]
    /// The EDNS record, if any.
    let edns: EDNS?

    /// The contents of an OPT record (RFC 6891, RFC 8914).
    struct EDNS: Equatable, Sendable {
        /// The upper eight bits of the response code.
        let extendedResponseCode: UInt8
        /// The extended errors.
        let errors: [ExtendedError]
    }

    /// One extended DNS error (RFC 8914).
    struct ExtendedError: Hashable, Sendable {
        /// The registered code; 6 is "DNSSEC Bogus".
        let code: UInt16
        /// The server's text, if any, with unprintable bytes removed.
        let text: String
    }

    /// Whether the message is a reply.
    var isReply: Bool { flags & 0x8000 != 0 }
    /// Whether the message was truncated to fit a datagram.
    var isTruncated: Bool { flags & 0x0200 != 0 }
    /// Whether the server offers recursion.
    var recursionAvailable: Bool { flags & 0x0080 != 0 }
    /// Whether the server claims to have validated the data (AD).
    var isAuthenticated: Bool { flags & 0x0020 != 0 }
    /// The response code, including its extended bits.
    var responseCode: UInt16 {
        UInt16(edns?.extendedResponseCode ?? 0) << 4 | flags & 0x000F
    }

    /// Parses a whole message.
    ///
    /// Throws ``DNSMessageError`` at the first violation. Bytes after the last record are ignored, as resolvers do.
    package init(_ bytes: [UInt8]) throws(DNSMessageError) {
        var reader = DNSMessageReader(bytes)
        self.id = try reader.uint16()
        self.flags = try reader.uint16()
        let questionCount = Int(try reader.uint16())
        let answerCount = Int(try reader.uint16())
        let authorityCount = Int(try reader.uint16())
        let additionalCount = Int(try reader.uint16())

        // No capacity is reserved from these counts, since the sender could claim any number.
        var questions: [(question: Question, questionClass: UInt16)] = []
        for _ in 0..<questionCount {
            let name = try reader.name()
            let type = RecordType(rawValue: try reader.uint16())
            questions.append((Question(name, type), try reader.uint16()))
        }
        self.questions = questions
        self.answers = try Self.section(answerCount, &reader)
        self.authorities = try Self.section(authorityCount, &reader)

        var edns: EDNS?
        for record in try Self.section(additionalCount, &reader) where record.type == .opt {
            guard edns == nil, case .other(let options) = record.data else { throw .malformedOption }
            edns = try EDNS(ttl: record.ttl, options: options)
        }
        self.edns = edns
    }

    private static func section(_ count: Int, _ reader: inout DNSMessageReader) throws(DNSMessageError)
        -> [ResourceRecord]
    {
        var records: [ResourceRecord] = []
        for _ in 0..<count { records.append(try reader.record()) }
        return records
    }
}

extension DNSMessage.EDNS {
    init(ttl: UInt32, options: [UInt8]) throws(DNSMessageError) {
        var errors: [DNSMessage.ExtendedError] = []
        var reader = DNSMessageReader(options)
        while !reader.isAtEnd {
            let code = try reader.uint16()
            let body = try reader.bytes(Int(try reader.uint16()))
            guard code == 15, body.count >= 2 else { continue }
            let start = body.startIndex
            let text = body[(start + 2)...].filter { $0 >= 0x20 && $0 < 0x7F }
            errors.append(
                DNSMessage.ExtendedError(
                    code: UInt16(body[start]) << 8 | UInt16(body[start + 1]),
                    text: String(decoding: text, as: UTF8.self)
                )
            )
        }
        self.init(extendedResponseCode: UInt8(truncatingIfNeeded: ttl >> 24), errors: errors)
    }
}

/// Why bytes are not a DNS message.
package enum DNSMessageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message ends before the lengths it states.
    case tooShort
    /// A compression pointer that does not point to an earlier place.
    case pointerNotBackwards
    /// A label type other than "length" and "pointer".
    case unknownLabelType
    /// A name over 255 bytes.
    case nameTooLong
    /// Record data that is malformed for its type.
    case malformedData(RecordType)
    /// A malformed EDNS record, or a second one.
    case malformedOption

    /// What is wrong.
    package var description: String {
        switch self {
        case .tooShort: "the message ends too early"
        case .pointerNotBackwards: "a compressed name points to itself or forwards"
        case .unknownLabelType: "a name holds a label of an unknown type"
        case .nameTooLong: "a name is longer than 255 bytes"
        case .malformedData(let type): "the data of a record of type \(type) is malformed"
        case .malformedOption: "the EDNS record is malformed"
        }
    }
}
