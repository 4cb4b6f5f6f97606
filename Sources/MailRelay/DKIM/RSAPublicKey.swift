/// The length and the encoding of an RSA public key.
struct RSAPublicKey: Sendable, Hashable {
    /// The length of the modulus, in bits.
    let bits: Int
    /// Whether the key is bare PKCS #1 rather than wrapped in SubjectPublicKeyInfo.
    let isBare: Bool

    /// Parses a key from DER in either encoding; nil for anything else, including trailing bytes.
    init?(der: [UInt8]) {
        guard let outer = DERReader.onlySequence(der[...]) else { return nil }
        var reader = DERReader(outer)
        if let algorithm = reader.element(0x30) {
            // SubjectPublicKeyInfo: the algorithm identifier, then the key in a bit string.
            var identifier = DERReader(algorithm)
            guard identifier.element(0x06).map({ Array($0) }) == Self.rsaEncryption,
                let bitString = reader.element(0x03), reader.isAtEnd, bitString.first == 0,
                let inner = DERReader.onlySequence(bitString.dropFirst()), let bits = Self.modulusBits(inner)
            else { return nil }
            self.bits = bits
            self.isBare = false
        } else {
            guard let bits = Self.modulusBits(outer) else { return nil }
            self.bits = bits
            self.isBare = true
        }
    }

    /// The object identifier 1.2.840.113549.1.1.1, encoded.
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    private static func modulusBits(_ sequence: ArraySlice<UInt8>) -> Int? {
        var reader = DERReader(sequence)
        guard let modulus = reader.element(0x02), let exponent = reader.element(0x02), reader.isAtEnd,
            !exponent.isEmpty, let first = modulus.first, first < 0x80
        else { return nil }
        let digits = modulus.drop { $0 == 0 }
        guard let top = digits.first else { return nil }
        return digits.count * 8 - top.leadingZeroBitCount
    }
}

/// A reader of DER elements.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The content of the next element if it has this tag; otherwise nil, without advancing the reader.
    mutating func element(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.count >= 2, rest.first == tag else { return nil }
        var index = rest.startIndex + 1
        var length = Int(rest[index])
        index += 1
        if length >= 0x80 {
            let count = length & 0x7F
            // Two length bytes are enough for any key that fits into DNS.
            guard count == 1 || count == 2, rest.endIndex - index >= count else { return nil }
            length = rest[index..<(index + count)].reduce(0) { $0 << 8 | Int($1) }
            index += count
        }
        guard rest.endIndex - index >= length else { return nil }
        defer { rest = rest[(index + length)...] }
        return rest[index..<(index + length)]
    }

    static func onlySequence(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var reader = DERReader(bytes)
        guard let content = reader.element(0x30), reader.isAtEnd else { return nil }
        return content
    }
}
