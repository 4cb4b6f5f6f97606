/// Escapes untrusted text so that it is safe to show.
package enum PrintableBytes {
    /// Printable ASCII unchanged, a backslash doubled, every other byte as `\xNN`.
    package static func escaped(_ bytes: some Collection<UInt8>) -> String {
        if bytes.allSatisfy({ $0 >= 0x20 && $0 <= 0x7E && $0 != UInt8(ascii: "\\") }) {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\\"): text.append("\\\\")
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                text.append(digits.count == 1 ? "\\x0\(digits)" : "\\x\(digits)")
            }
        }
        return text
    }
}
