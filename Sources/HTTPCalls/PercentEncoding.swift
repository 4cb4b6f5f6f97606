/// Percent-encoding by RFC 3986: everything but the unreserved characters is encoded.
package enum PercentEncoding {
    /// Encodes one path segment or form value, including slashes.
    package static func component(_ text: String) -> String {
        encode(text.utf8)
    }

    /// Encodes a path whose slashes separate segments, as in the keys of stored objects.
    ///
    /// Returns nil for a path with an empty segment or one of `.` or `..`. Gateways merge slashes and remove dot
    /// segments, even escaped ones, since `%2E` is equivalent to a dot (RFC 3986, section 6.2.2), so another path would
    /// arrive.
    package static func path(_ text: String) -> String? {
        // Split by bytes, as the server does: in Swift, a slash with a combining accent is a different character.
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.allSatisfy({ arrives($0) }) else { return nil }
        return segments.map { encode($0) }.joined(separator: "/")
    }

    /// Encodes one path segment, including slashes; nil for a segment that gateways remove, see ``path(_:)``.
    package static func segment(_ text: String) -> String? {
        arrives(text.utf8) ? encode(text.utf8) : nil
    }

    /// The body of a form: `name=value` pairs joined by ampersands.
    package static func form(_ fields: [(name: String, value: String)]) -> [UInt8] {
        Array(fields.map { "\(component($0.name))=\(component($0.value))" }.joined(separator: "&").utf8)
    }

    /// Whether gateways keep a segment unchanged.
    private static func arrives(_ segment: some Collection<UInt8>) -> Bool {
        segment.count > 2 || !segment.allSatisfy { $0 == UInt8(ascii: ".") }
    }

    private static func encode(_ bytes: some Collection<UInt8>) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for byte in bytes {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded.append(hexDigit(byte >> 4))
                encoded.append(hexDigit(byte & 0x0F))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default:
            false
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
