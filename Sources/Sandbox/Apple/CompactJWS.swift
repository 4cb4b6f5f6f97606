#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed token in JOSE's compact form, parsed but not verified.
struct CompactJWS {
    /// The part that the signature covers.
    let signed: String
    let header: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]

    /// Parses a token; nil unless it consists of three base64url segments.
    init?(_ text: String) {
        let segments = text.split(separator: ".", omittingEmptySubsequences: false)
        guard
            segments.count == 3,
            let header = Base64URL.decode(segments[0]),
            let payload = Base64URL.decode(segments[1]),
            let signature = Base64URL.decode(segments[2])
        else { return nil }
        self.signed = segments[0] + "." + segments[1]
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// Creates a token from a header, claims and a signing function.
    static func make(
        header: [String: String],
        claims: some Encodable,
        sign: ([UInt8]) throws -> [UInt8]
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let signed = Base64URL.encode(try encoder.encode(header)) + "." + Base64URL.encode(try encoder.encode(claims))
        return signed + "." + Base64URL.encode(try sign(Array(signed.utf8)))
    }
}
