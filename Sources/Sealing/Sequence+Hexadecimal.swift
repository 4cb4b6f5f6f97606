extension Sequence where Element == UInt8 {
    /// The bytes in hexadecimal digits, two for each, in lower case.
    package var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
