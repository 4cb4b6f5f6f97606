extension Sequence where Element == UInt8 {
    /// The bytes in lower-case hexadecimal, two digits per byte.
    package var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
