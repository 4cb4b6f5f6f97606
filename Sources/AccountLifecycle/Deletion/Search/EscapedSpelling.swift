/// How URLs and JSON spell what may not stand in them as it is.
enum EscapedSpelling {
    /// Bytes as `encodeURIComponent` and forms write them: all but letters, digits and `-._~` by their numbers (RFC 3986, 2.1),
    /// in lower case.
    static func url(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte in
            (byte.isWord && byte < 0x80) || "-._~".utf8.contains(byte) ? [byte] : [UInt8(ascii: "%")] + hex(byte)
        }
    }

    /// UTF-8 as writers of JSON spell it that keep to ASCII, and to what HTML gives no meaning, in lower case.
    static func json(_ bytes: [UInt8]) -> [UInt8] {
        String(decoding: bytes, as: UTF8.self).utf16.flatMap { unit in
            unit < 0x80 && !"+&'<>`".utf16.contains(unit)
                ? [UInt8(unit)] : Array("\\u".utf8) + hex(UInt8(unit >> 8)) + hex(UInt8(unit & 0xFF))
        }
    }

    private static func hex(_ byte: UInt8) -> [UInt8] {
        [byte >> 4, byte & 0xF].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "a") + $0 - 10 }
    }

    /// Whether the character before `start` is of a set; one that is spelled by an escape counts as what it stands for.
    static func isPreceded(
        at start: Int,
        in text: UnsafeRawBufferPointer,
        by isPart: (UInt8) -> Bool
    ) -> Bool {
        guard start > 0 else { return false }
        if let byte = endOfURLEscape(before: start, in: text) { return isPart(byte) }
        if let byte = endOfJSONEscape(before: start, in: text) { return isPart(byte) }
        return isPart(text[start - 1])
    }

    /// What the escape of a URL before `start` stands for, or that of a URL within another; nil where there is none.
    private static func endOfURLEscape(before start: Int, in text: UnsafeRawBufferPointer) -> UInt8? {
        guard start >= 3, let high = text[start - 2].hexValue, let low = text[start - 1].hexValue else { return nil }
        var sign = start - 3
        // "%25" is the sign itself.
        while sign >= 2, text[sign] == UInt8(ascii: "5"), text[sign - 1] == UInt8(ascii: "2"),
            text[sign - 2] == UInt8(ascii: "%") || text[sign - 2] == UInt8(ascii: "5")
        {
            sign -= 2
        }
        return text[sign] == UInt8(ascii: "%") ? high << 4 | low : nil
    }

    /// What the JSON escape before `start` stands for, a blank where that is beyond ASCII; nil where there is none.
    private static func endOfJSONEscape(before start: Int, in text: UnsafeRawBufferPointer) -> UInt8? {
        if "bfnrt".utf8.contains(text[start - 1]) {
            return startsJSONEscape(at: start - 2, in: text) ? UInt8(ascii: " ") : nil
        }
        guard start >= 6, text[start - 5] == UInt8(ascii: "u"), startsJSONEscape(at: start - 6, in: text) else {
            return nil
        }
        let digits = (1...4).reversed().compactMap { text[start - $0].hexValue }
        guard digits.count == 4 else { return nil }
        let isASCII = digits[0] == 0 && digits[1] == 0 && digits[2] < 8
        return isASCII ? digits[2] << 4 | digits[3] : UInt8(ascii: " ")
    }

    /// Whether a backslash stands at `index` that no backslash before it escapes.
    private static func startsJSONEscape(at index: Int, in text: UnsafeRawBufferPointer) -> Bool {
        var first = index
        while first >= 0, text[first] == UInt8(ascii: "\\") { first -= 1 }
        return (index - first) % 2 == 1
    }
}
