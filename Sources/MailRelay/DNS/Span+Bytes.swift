/// Search and comparison helpers for contiguous bytes.
///
/// Unlike an array slice, a span neither owns nor reference-counts its bytes.
extension Span<UInt8> {
    /// The first position of the byte at or after `start`; nil if there is none.
    func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        var index = start
        while index < count {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// The last position of the byte; nil if there is none.
    func lastIndex(of byte: UInt8) -> Int? {
        var index = count
        while index > 0 {
            index -= 1
            if self[index] == byte { return index }
        }
        return nil
    }

    /// Compares with lower-case ASCII text, ignoring the case of the bytes.
    @inline(__always)
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in indices where self[index].lowercasedASCII != text.utf8Start[index] { return false }
        return true
    }
}

extension String {
    /// Passes the text's bytes to `body` as one contiguous span.
    @inline(__always)
    func withBytes<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body($0.span) }) { return result }
        return Array(utf8).withUnsafeBufferPointer { body($0.span) }
    }
}

extension [UInt8] {
    /// Appends the bytes in one operation.
    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits.
    mutating func append(decimal number: UInt8) {
        if number >= 100 { append(0x30 + number / 100) }
        if number >= 10 { append(0x30 + number / 10 % 10) }
        append(0x30 + number % 10)
    }
}

extension UnsafeRawBufferPointer {
    /// The eight bytes at `offset` as a number: the last eight if fewer follow, and all bytes if there are fewer than
    /// eight.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        guard count < 8 else { return loadUnaligned(fromByteOffset: Swift.min(offset, count - 8), as: UInt64.self) }
        return reduce(0) { $0 << 8 | UInt64($1) }
    }
}
