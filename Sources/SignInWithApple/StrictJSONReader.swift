/// A parser for one JSON text (RFC 8259).
struct StrictJSONReader {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var position = 0

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func readDocument() throws(StrictJSON.Problem) -> StrictJSON {
        let value = try readValue(depth: 0)
        skipWhitespace()
        guard position == bytes.count else { throw .malformed }
        return value
    }

    private mutating func readValue(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        skipWhitespace()
        guard let byte = peek() else { throw .malformed }
        switch byte {
        case UInt8(ascii: "{"):
            guard depth < maximumDepth else { throw .tooDeep }
            return try readObject(depth: depth + 1)
        case UInt8(ascii: "["):
            guard depth < maximumDepth else { throw .tooDeep }
            return try readArray(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: return .number(try readNumber())
        }
    }

    private mutating func readObject(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        position += 1
        var members: [String: StrictJSON] = [:]
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipWhitespace()
            guard peek() == UInt8(ascii: "\"") else { throw .malformed }
            let name = try readString()
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw .malformed }
            let value = try readValue(depth: depth)
            guard members.updateValue(value, forKey: name) == nil else { throw .duplicateMember }
            skipWhitespace()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw .malformed }
        }
    }

    private mutating func readArray(depth: Int) throws(StrictJSON.Problem) -> StrictJSON {
        position += 1
        var elements: [StrictJSON] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try readValue(depth: depth))
            skipWhitespace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw .malformed }
        }
    }

    private mutating func readString() throws(StrictJSON.Problem) -> String {
        position += 1
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\"),
            bytes[position] >= 0x20
        {
            position += 1
        }
        // Fast path: a string without escapes is copied at once.
        if peek() == UInt8(ascii: "\"") {
            guard let text = String(validating: bytes[start..<position], as: UTF8.self) else { throw .invalidText }
            position += 1
            return text
        }
        var text = Array(bytes[start..<position])
        while let byte = peek() {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else { throw .invalidText }
                return text
            case UInt8(ascii: "\\"):
                text.append(contentsOf: try readEscape())
            case 0..<0x20:
                throw .malformed
            default:
                text.append(byte)
            }
        }
        throw .malformed
    }

    private mutating func readEscape() throws(StrictJSON.Problem) -> [UInt8] {
        guard let byte = peek() else { throw .malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return try readUnicodeEscape()
        default: throw .malformed
        }
    }

    private mutating func readUnicodeEscape() throws(StrictJSON.Problem) -> [UInt8] {
        var value = UInt32(try readFourHexDigits())
        if (0xD800..<0xDC00).contains(value) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw .invalidText }
            let low = UInt32(try readFourHexDigits())
            guard (0xDC00..<0xE000).contains(low) else { throw .invalidText }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw .invalidText }
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func readFourHexDigits() throws(StrictJSON.Problem) -> UInt16 {
        guard position + 4 <= bytes.count else { throw .malformed }
        var value: UInt16 = 0
        for _ in 0..<4 {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt16(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
            default: throw .malformed
            }
        }
        return value
    }

    private mutating func readNumber() throws(StrictJSON.Problem) -> Double {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard skipDigits() > 0 else { throw .malformed }
        }
        if take(UInt8(ascii: ".")) {
            guard skipDigits() > 0 else { throw .malformed }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard skipDigits() > 0 else { throw .malformed }
        }
        guard position - start <= 40,
            let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite
        else { throw .malformed }
        return number
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func readWord(_ word: StaticString, _ value: StrictJSON) throws(StrictJSON.Problem) -> StrictJSON {
        let expected = Array(word.description.utf8)
        guard bytes.count - position >= expected.count,
            bytes[position..<position + expected.count].elementsEqual(expected)
        else { throw .malformed }
        position += expected.count
        return value
    }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }
}
