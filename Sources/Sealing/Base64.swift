/// Base64 by RFC 4648, decoded strictly without whitespace or stray bits, so that each value has exactly one encoding.
package enum Base64 {
    /// The two alphabets.
    package enum Alphabet: Sendable {
        /// `+` and `/`, padded with `=`.
        case standard
        /// `-` and `_`, not padded.
        case urlSafe
    }

    private static let standardDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlSafeDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardValues = values(of: standardDigits)
    private static let urlSafeValues = values(of: urlSafeDigits)
    private static let invalid: UInt8 = 0xFF

    private static func values(of digits: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: invalid, count: 256)
        for (value, digit) in digits.enumerated() { table[Int(digit)] = UInt8(value) }
        return table
    }

    /// Encodes bytes.
    package static func encode(_ bytes: some Collection<UInt8>, alphabet: Alphabet = .standard) -> String {
        let digits = alphabet == .standard ? standardDigits : urlSafeDigits
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var pending: UInt32 = 0
        var pendingBits: UInt32 = 0
        for byte in bytes {
            pending = (pending << 8 | UInt32(byte)) & 0xFFFF
            pendingBits += 8
            while pendingBits >= 6 {
                pendingBits -= 6
                text.append(digits[Int(pending >> pendingBits & 0x3F)])
            }
        }
        if pendingBits > 0 { text.append(digits[Int(pending << (6 - pendingBits) & 0x3F)]) }
        if alphabet == .standard {
            while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes text; nil for anything that ``encode(_:alphabet:)`` would not produce.
    package static func decode(_ text: some BidirectionalCollection<UInt8>, alphabet: Alphabet = .standard) -> [UInt8]?
    {
        let table = alphabet == .standard ? standardValues : urlSafeValues
        var digits = text[...]
        if alphabet == .standard {
            guard text.count % 4 == 0 else { return nil }
            if digits.last == UInt8(ascii: "=") { digits = digits.dropLast() }
            if digits.last == UInt8(ascii: "=") { digits = digits.dropLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var pending: UInt32 = 0
        var pendingBits: UInt32 = 0
        for digit in digits {
            let value = table[Int(digit)]
            guard value != invalid else { return nil }
            pending = (pending << 6 | UInt32(value)) & 0xFFFF
            pendingBits += 6
            if pendingBits >= 8 {
                pendingBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> pendingBits))
            }
        }
        guard pending & ((1 << pendingBits) - 1) == 0 else { return nil }
        return bytes
    }

    /// Decodes text; nil for anything that ``encode(_:alphabet:)`` would not produce.
    package static func decode(_ text: some StringProtocol, alphabet: Alphabet = .standard) -> [UInt8]? {
        decode(Array(text.utf8), alphabet: alphabet)
    }
}
