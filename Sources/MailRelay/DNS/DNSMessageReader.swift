/// A cursor over the bytes of a DNS message.
struct DNSMessageReader {
    private let message: [UInt8]
    private var position = 0

    init(_ message: [UInt8]) {
        self.message = message
    }

    var isAtEnd: Bool { position == message.count }

    mutating func uint8() throws(DNSMessageError) -> UInt8 {
        guard position < message.count else { throw .tooShort }
        defer { position += 1 }
        return message[position]
    }

    mutating func uint16() throws(DNSMessageError) -> UInt16 {
        let high = try uint8()
        return UInt16(high) << 8 | UInt16(try uint8())
    }

    mutating func uint32() throws(DNSMessageError) -> UInt32 {
        let high = try uint16()
        return UInt32(high) << 16 | UInt32(try uint16())
    }

    mutating func bytes(_ count: Int) throws(DNSMessageError) -> ArraySlice<UInt8> {
        guard count <= message.count - position else { throw .tooShort }
        defer { position += count }
        return message[position..<(position + count)]
    }

    /// Reads a name, following compression pointers.
    ///
    /// Each pointer must lead to a place before the labels it continues (RFC 1035, 4.1.4 says "a prior occurrence").
    /// The positions visited therefore only decrease, so reading ends for every message.
    mutating func name() throws(DNSMessageError) -> DomainName {
        var labels: [ArraySlice<UInt8>] = []
        var length = 1
        var index = position
        var segmentStart = position
        var afterFirstPointer: Int?
        while true {
            guard index < message.count else { throw .tooShort }
            let head = message[index]
            switch head & 0xC0 {
            case 0x00:
                index += 1
                guard head != 0 else {
                    position = afterFirstPointer ?? index
                    return try assembled(labels)
                }
                let end = index + Int(head)
                guard end <= message.count else { throw .tooShort }
                length += 1 + Int(head)
                guard length <= DomainName.maximumWireLength else { throw .nameTooLong }
                labels.append(message[index..<end])
                index = end
            case 0xC0:
                guard index + 1 < message.count else { throw .tooShort }
                let target = Int(head & 0x3F) << 8 | Int(message[index + 1])
                guard target < segmentStart else { throw .pointerNotBackwards }
                if afterFirstPointer == nil { afterFirstPointer = index + 2 }
                index = target
                segmentStart = target
            default:
                throw .unknownLabelType
            }
        }
    }

    private func assembled(_ labels: [ArraySlice<UInt8>]) throws(DNSMessageError) -> DomainName {
        do {
            return try DomainName(labels: labels)
        } catch {
            throw .nameTooLong
        }
    }

    mutating func record() throws(DNSMessageError) -> ResourceRecord {
        let name = try name()
        let type = RecordType(rawValue: try uint16())
        let recordClass = try uint16()
        let ttl = try uint32()
        let length = Int(try uint16())
        guard length <= message.count - position else { throw .tooShort }
        let end = position + length
        let data = try data(of: type, until: end)
        guard position == end else { throw .malformedData(type) }
        // A TTL with its highest bit set counts as zero (RFC 2181, 8); the OPT record stores flags in this field.
        let isTime = type != .opt && ttl > UInt32(Int32.max)
        return ResourceRecord(name: name, type: type, recordClass: recordClass, ttl: isTime ? 0 : ttl, data: data)
    }

    private mutating func data(of type: RecordType, until end: Int) throws(DNSMessageError) -> RecordData {
        switch type {
        case .a:
            guard end - position == 4 else { throw .malformedData(type) }
            return .a(IPv4Address(rawValue: try uint32()))
        case .aaaa:
            guard end - position == 16 else { throw .malformedData(type) }
            let high = UInt64(try uint32()) << 32 | UInt64(try uint32())
            let low = UInt64(try uint32()) << 32 | UInt64(try uint32())
            return .aaaa(IPv6Address(high: high, low: low))
        case .cname: return .cname(try name())
        case .ptr: return .ptr(try name())
        case .ns: return .ns(try name())
        case .mx:
            let preference = try uint16()
            return .mx(preference: preference, exchange: try name())
        case .txt, .spf:
            var strings: [[UInt8]] = []
            while position < end {
                let length = Int(try uint8())
                guard length <= end - position else { throw .malformedData(type) }
                strings.append(Array(try bytes(length)))
            }
            return .text(strings)
        case .soa:
            _ = try name()
            _ = try name()
            guard end - position == 20 else { throw .malformedData(type) }
            _ = try bytes(16)
            return .soa(minimum: try uint32())
        default:
            return .other(Array(try bytes(end - position)))
        }
    }
}
