import Crypto

package import Sealing

/// The EC P-256 key of a `.p8` file from Apple's developer portal.
package struct ApplePrivateKey: Sendable {
    let key: Secret<P256.Signing.PrivateKey>

    /// Parses a key in any form in which people and secret stores supply it.
    ///
    /// Accepted are the file itself; the file with line ends spelled `\n` or lost, with carriage returns, or in quotes;
    /// base64 of the whole file; and the bare base64 between the markers.
    ///
    /// - Throws: ``Problem``, one for each usual mistake; none of them reveals the text.
    package init(parsing text: Secret<String>) throws(Problem) {
        key = Secret(try Self.parse(text.reveal(), mayBeEncoded: true))
    }

    /// Generates a new key, for tests and stand-ins.
    package static func random() -> ApplePrivateKey {
        ApplePrivateKey(key: Secret(P256.Signing.PrivateKey()))
    }

    private init(key: Secret<P256.Signing.PrivateKey>) {
        self.key = key
    }

    /// Signs bytes in the form that JOSE requires: 64 bytes rather than DER, which Apple rejects.
    func signature(of bytes: [UInt8]) throws -> [UInt8] {
        Array(try key.reveal().signature(for: bytes).rawRepresentation)
    }
}

extension ApplePrivateKey {
    /// What the text is instead of a usable key.
    package enum Problem: String, Error, Sendable, Hashable, CustomStringConvertible {
        case empty
        case clientSecretInstead
        case publicKey
        case certificate
        case rsaKey
        case otherCurve
        case encrypted
        case path
        case damaged
        case notAKey

        /// What the text is, and what is expected.
        package var description: String {
            switch self {
            case .empty: "the key is empty"
            case .clientSecretInstead:
                "this is a client secret (a JWT), not the .p8 key that signs it; give the file AuthKey_<key id>.p8"
            case .publicKey: "this is a public key; give the private key, the file AuthKey_<key id>.p8"
            case .certificate: "this is a certificate; give the private key, the file AuthKey_<key id>.p8"
            case .rsaKey: "this is an RSA key; Apple's .p8 holds an EC P-256 key"
            case .otherCurve: "this is not an EC P-256 key, which is what Apple's .p8 holds"
            case .encrypted: "the key is encrypted; Apple's .p8 is not, give it as downloaded"
            case .path: "this looks like the path of a file; give its content, or the path where a file is expected"
            case .damaged: "the key begins like a .p8 file but cannot be read; copy the whole file again"
            case .notAKey: "this is not the content of a .p8 file (-----BEGIN PRIVATE KEY----- ...)"
            }
        }
    }

    private static let marker = "-----BEGIN "

    private static func parse(_ text: String, mayBeEncoded: Bool) throws(Problem) -> P256.Signing.PrivateKey {
        let plain = text.replacing("\\r", with: "").replacing("\\n", with: "\n").filter { $0 != .byteOrderMark }
        let text = String(plain.trimming { $0.isWhitespace || $0 == "\"" || $0 == "'" })
        guard !text.isEmpty else { throw .empty }
        if let begin = text.firstRange(of: marker) {
            return try parsePEM(text[begin.upperBound...])
        }
        if StaticClientSecret.looksLikeToken(text) { throw .clientSecretInstead }
        let compact = text.filter { !$0.isWhitespace }
        guard let decoded = Base64.decode(compact) ?? Base64.decode(compact, alphabet: .urlSafe) else {
            throw text.hasSuffix(".p8") || text.hasPrefix("/") || text.hasPrefix("~") ? .path : .notAKey
        }
        if mayBeEncoded, let inner = String(validating: decoded, as: UTF8.self), inner.contains(marker) {
            return try parse(inner, mayBeEncoded: false)
        }
        return try parseDER(decoded, otherwise: .notAKey)
    }

    private static func parsePEM(_ afterMarker: Substring) throws(Problem) -> P256.Signing.PrivateKey {
        guard let labelEnd = afterMarker.firstRange(of: "-----"),
            let bodyEnd = afterMarker[labelEnd.upperBound...].firstRange(of: "-----END ")
        else { throw .damaged }
        switch afterMarker[..<labelEnd.lowerBound] {
        case "PRIVATE KEY", "EC PRIVATE KEY": break
        case "RSA PRIVATE KEY": throw .rsaKey
        case "PUBLIC KEY", "RSA PUBLIC KEY": throw .publicKey
        case "CERTIFICATE": throw .certificate
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        default: throw .notAKey
        }
        // Line ends may have become spaces on the way, so all white space is removed from the base64.
        let body = afterMarker[labelEnd.upperBound..<bodyEnd.lowerBound].filter { !$0.isWhitespace }
        // A header of the older encrypted form (RFC 1421); base64 has no comma.
        if body.contains("4,ENCRYPTED") { throw .encrypted }
        guard let der = Base64.decode(body) else { throw .damaged }
        return try parseDER(der, otherwise: .damaged)
    }

    private static func parseDER(_ der: [UInt8], otherwise: Problem) throws(Problem) -> P256.Signing.PrivateKey {
        if let key = try? P256.Signing.PrivateKey(derRepresentation: der) { return key }
        func contains(_ pattern: [UInt8]) -> Bool { der.firstRange(of: pattern) != nil }
        // Object identifiers in DER.
        let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        // The prefix of the curves in the SECG arc, including P-384, P-521 and secp256k1; P-256 is in another arc.
        let secg: [UInt8] = [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00]
        let ed25519: [UInt8] = [0x06, 0x03, 0x2B, 0x65, 0x70]
        if contains(rsa) { throw .rsaKey }
        if (try? P256.Signing.PublicKey(derRepresentation: der)) != nil { throw .publicKey }
        if contains(secg) || contains(ed25519) { throw .otherCurve }
        throw otherwise
    }
}
