/// How URLs, JSON, HTML and SQL escape what may not appear in them as it is.
enum EscapedSpelling {
    /// Bytes as `encodeURIComponent` and forms write them: all but letters, digits and `-._~` percent-encoded (RFC
    /// 3986, 2.1), in lower case.
    static func url(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte in
            byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) ? [byte] : [UInt8(ascii: "%")] + hex(byte)
        }
    }

    /// Bytes as `encodeURI` and Foundation's URLs write them in a query: what a query may contain stays (RFC 3986, 3.4); in
    /// lower case.
    static func query(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { "!$&'()*+,;=:@/?".utf8.contains($0) ? [$0] : url([$0]) }
    }

    /// UTF-8 as escaped by JSON writers that emit only ASCII, without HTML's special characters; in lower case.
    static func json(_ bytes: [UInt8]) -> [UInt8] {
        String(decoding: bytes, as: UTF8.self).utf16.flatMap { unit in
            unit < 0x80 && !"+&'<>`".utf16.contains(unit)
                ? withinJSON([UInt8(unit)]) : Array("\\u".utf8) + hex(UInt8(unit >> 8)) + hex(UInt8(unit & 0xFF))
        }
    }

    /// Bytes as in a text within JSON, where a backslash stands before each backslash and quote.
    static func withinJSON(_ bytes: [UInt8]) -> [UInt8] {
        let backslash = UInt8(ascii: "\\")
        return bytes.flatMap { $0 == backslash || $0 == UInt8(ascii: "\"") ? [backslash, $0] : [$0] }
    }

    /// Bytes as in a text within a composite value, where each backslash and quote is written twice.
    static func withinComposite(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") ? [$0, $0] : [$0] }
    }

    /// Bytes as in Markdown that programs write, where a backslash keeps an underscore from being emphasis.
    static func markdown(_ bytes: [UInt8]) -> [UInt8] {
        bytes.flatMap { $0 == UInt8(ascii: "_") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Bytes with each apostrophe, as in "o'brien@x.de", in the ways of HTML, SQL and quoted strings of programs; in
    /// lower case.
    static func apostrophes(_ bytes: [UInt8]) -> [[UInt8]] {
        ["&#39;", "&#039;", "&#x27;", "&apos;", "''", "\\'"].map { escape in
            bytes.flatMap { $0 == UInt8(ascii: "'") ? Array(escape.utf8) : [$0] }
        }
    }

    private static func hex(_ byte: UInt8) -> [UInt8] {
        [byte >> 4, byte & 0xF].map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "a") + $0 - 10 }
    }

    /// The character before `end`, or the one for which an escape there stands, and where it begins; nil at the
    /// beginning of the text.
    ///
    /// Invalid UTF-8, such as where a text was cut, is read as U+FFFD.
    static func character(before end: Int, in text: UnsafeRawBufferPointer) -> (scalar: Unicode.Scalar, start: Int)? {
        guard end > 0 else { return nil }
        if let escape = jsonEscape(before: end, in: text) { return escape }
        var bytes: [UInt8] = []
        var start = end
        repeat {
            let (byte, first) = urlEscape(before: start, in: text) ?? (text[start - 1], start - 1)
            bytes.insert(byte, at: 0)
            start = first
        } while bytes[0] & 0xC0 == 0x80 && bytes.count < 4 && start > 0
        return (String(decoding: bytes, as: UTF8.self).unicodeScalars.last ?? "\u{FFFD}", start)
    }

    /// The byte for which the percent-escape before `end` stands, including one in a URL within another; nil if there
    /// is none.
    private static func urlEscape(before end: Int, in text: UnsafeRawBufferPointer) -> (byte: UInt8, start: Int)? {
        guard end >= 3, let high = text[end - 2].hexValue, let low = text[end - 1].hexValue else { return nil }
        var sign = end - 3
        // "%25" is the percent sign itself.
        while sign >= 2, text[sign] == UInt8(ascii: "5"), text[sign - 1] == UInt8(ascii: "2"),
            text[sign - 2] == UInt8(ascii: "%") || text[sign - 2] == UInt8(ascii: "5")
        {
            sign -= 2
        }
        return text[sign] == UInt8(ascii: "%") ? (high << 4 | low, sign) : nil
    }

    /// The character for which the JSON escape before `end` stands, a blank for `\b`, `\f`, `\n`, `\r`, `\t` and for
    /// half of a surrogate pair; nil if there is none.
    private static func jsonEscape(
        before end: Int,
        in text: UnsafeRawBufferPointer
    ) -> (scalar: Unicode.Scalar, start: Int)? {
        if "bfnrt".utf8.contains(text[end - 1]), let start = backslashes(through: end - 2, in: text) {
            return (" ", start)
        }
        guard end >= 6, text[end - 5] == UInt8(ascii: "u"), let start = backslashes(through: end - 6, in: text) else {
            return nil
        }
        let digits = (1...4).reversed().compactMap { text[end - $0].hexValue }
        guard digits.count == 4 else { return nil }
        return (Unicode.Scalar(digits.reduce(UInt16(0)) { $0 << 4 | UInt16($1) }) ?? " ", start)
    }

    /// The start of the run of backslashes that ends at `index`; nil if there is no backslash.
    ///
    /// JSON within JSON has two for an escape, and so has JSON within an array, a composite value or hstore. A path of
    /// Windows in JSON looks alike: in doubt, what follows is found.
    private static func backslashes(through index: Int, in text: UnsafeRawBufferPointer) -> Int? {
        var start = index + 1
        while start > 0, text[start - 1] == UInt8(ascii: "\\") { start -= 1 }
        return start <= index ? start : nil
    }
}
