@testable import MailRelay

/// Builds DNS messages byte by byte, including malformed ones.
struct MessageBuilder {
    var flags: UInt16 = 0x8180
    var id: UInt16 = 0x1234
    var questions: [[UInt8]] = []
    var answers: [[UInt8]] = []
    var authorities: [[UInt8]] = []
    var additionals: [[UInt8]] = []

    init(_ question: Question? = nil, code: UInt16 = 0) {
        flags |= code
        if let question { ask(question) }
    }

    mutating func ask(_ question: Question) {
        questions.append(question.name.wire + [0] + Self.word(question.type.rawValue) + [0, 1])
    }

    static func word(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

    static func name(_ text: String) -> [UInt8] { ((try? DomainName(dotted: text)) ?? .root).wire + [0] }

    static func record(_ owner: [UInt8], _ type: RecordType, ttl: UInt32 = 300, _ data: [UInt8]) -> [UInt8] {
        owner + word(type.rawValue) + [0, 1] + word(UInt16(ttl >> 16)) + word(UInt16(ttl & 0xFFFF))
            + word(UInt16(data.count)) + data
    }

    static func soa(_ zone: String, minimum: UInt32) -> [UInt8] {
        record(
            name(zone),
            .soa,
            ttl: 900,
            name("ns.\(zone)") + name("root.\(zone)") + [UInt8](repeating: 0, count: 16)
                + word(UInt16(minimum >> 16)) + word(UInt16(minimum & 0xFFFF))
        )
    }

    static func text(_ strings: [[UInt8]]) -> [UInt8] { strings.flatMap { [UInt8($0.count)] + $0 } }

    var bytes: [UInt8] {
        let counts = [questions.count, answers.count, authorities.count, additionals.count]
        return Self.word(id) + Self.word(flags) + counts.flatMap { Self.word(UInt16($0)) }
            + (questions + answers + authorities + additionals).flatMap { $0 }
    }
}
