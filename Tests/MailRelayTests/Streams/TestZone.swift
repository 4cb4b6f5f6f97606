@testable import MailRelay

/// A zone written as text, one record a line: name, type, data.
///
/// `TIMEOUT`, `SERVFAIL`, `BOGUS` and `REFUSED` may take the place of the data. Strings of a TXT record are in double
/// quotes; `\xNN` is a byte.
struct TestZone {
    var outcomes: [Question: LookupOutcome] = [:]
    var silent: Set<DomainName> = []

    struct Malformed: Error { let line: String }

    init(_ text: String) throws {
        for line in text.split(separator: "\n") {
            let line = line.drop { $0 == " " }
            guard !line.isEmpty, !line.hasPrefix(";") else { continue }
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3 else { throw Malformed(line: String(line)) }
            try add(DomainName(dotted: parts[0]), parts[1], parts[2], line: String(line))
        }
    }

    var resolver: ZoneResolver { ZoneResolver(outcomes, silent: silent) }

    private mutating func add(_ name: DomainName, _ typeName: String, _ data: String, line: String) throws {
        if typeName == "*" {
            silent.insert(name)
            return
        }
        let types: [String: RecordType] = [
            "A": .a, "AAAA": .aaaa, "MX": .mx, "TXT": .txt, "CNAME": .cname, "PTR": .ptr, "SPF": .spf,
        ]
        guard let type = types[typeName] else { throw Malformed(line: line) }
        let question = Question(name, type)
        switch data {
        case "TIMEOUT": outcomes[question] = .timeout
        case "SERVFAIL": outcomes[question] = .serverFailure(LookupOutcome.ServerFailure())
        case "BOGUS": outcomes[question] = .serverFailure(LookupOutcome.ServerFailure(dnssecBogus: true))
        case "REFUSED": outcomes[question] = .refused
        default:
            guard let record = try record(type, data) else { throw Malformed(line: line) }
            var records: [RecordData] = []
            if case .records(let answer)? = outcomes[question] { records = answer.records }
            outcomes[question] = .records(LookupOutcome.Answer(records: records + [record], ttl: 300))
        }
    }

    private func record(_ type: RecordType, _ data: String) throws -> RecordData? {
        switch type {
        case .a: return IPv4Address(data).map { .a($0) }
        case .aaaa: return IPv6Address(data).map { .aaaa($0) }
        case .cname: return .cname(try DomainName(dotted: data))
        case .ptr: return .ptr(try DomainName(dotted: data))
        case .mx:
            let parts = data.split(separator: " ").map(String.init)
            guard parts.count == 2, let preference = UInt16(parts[0]) else { return nil }
            return .mx(preference: preference, exchange: parts[1] == "." ? .root : try DomainName(dotted: parts[1]))
        default: return .text(Self.strings(data))
        }
    }

    static func strings(_ data: String) -> [[UInt8]] {
        var strings: [[UInt8]] = []
        var current: [UInt8]?
        var bytes = Array(data.utf8)[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                if let done = current {
                    strings.append(done)
                    current = nil
                } else {
                    current = []
                }
            case UInt8(ascii: "\\"):
                guard bytes.first == UInt8(ascii: "x") else {
                    if let next = bytes.popFirst() { current?.append(next) }
                    continue
                }
                let digits = String(decoding: bytes.dropFirst().prefix(2), as: UTF8.self)
                current?.append(UInt8(digits, radix: 16) ?? 0)
                bytes = bytes.dropFirst(3)
            default: current?.append(byte)
            }
        }
        return strings
    }
}

/// Invented public keys for records: checks look only at the form of a key, and verify no signature with it.
enum MadeUpKeys {
    static func base64(_ bytes: [UInt8]) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let chunk = bytes[start..<min(start + 3, bytes.count)]
            let bits = chunk.reduce(0) { $0 << 8 | Int($1) } << ((3 - chunk.count) * 8)
            for index in 0..<4 {
                output.append(index <= chunk.count ? letters[bits >> (18 - index * 6) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        if content.count < 128 { return [tag, UInt8(content.count)] + content }
        if content.count < 256 { return [tag, 0x81, UInt8(content.count)] + content }
        return [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 255)] + content
    }

    static func bareRSA(bits: Int) -> [UInt8] {
        let modulus = [0, 0x80] + [UInt8](repeating: 0x5A, count: bits / 8 - 1)
        return element(0x30, element(0x02, modulus) + element(0x02, [1, 0, 1]))
    }

    static func rsa(bits: Int) -> [UInt8] {
        let identifier: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        return element(
            0x30,
            element(0x30, element(0x06, identifier) + [5, 0]) + element(0x03, [0] + bareRSA(bits: bits))
        )
    }

    static let rsa2048 = base64(rsa(bits: 2048))
    static let ed25519 = base64([UInt8](repeating: 7, count: 32))

    /// Quotes a record for a zone line, split into strings of 255 bytes.
    static func quoted(_ record: String) -> String {
        let bytes = Array(record.utf8)
        return stride(from: 0, to: bytes.count, by: 255)
            .map { "\"" + String(decoding: bytes[$0..<min($0 + 255, bytes.count)], as: UTF8.self) + "\"" }
            .joined(separator: " ")
    }
}
