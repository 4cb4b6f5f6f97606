import Crypto
import CryptoExtras
import Sealing

/// Apple's public keys (`/auth/keys`), which sign identity tokens and notifications, often with different keys.
struct AppleKeySet: Sendable {
    /// The keys, by id.
    let keys: [String: _RSA.Signing.PublicKey]

    /// Parses a JWKS document, skipping keys that are not RSA keys for RS256 signatures.
    ///
    /// Returns nil if the document is invalid, has no usable key, or has the same id twice.
    init?(jwks body: [UInt8]) {
        guard let json = try? StrictJSON(parsing: body), case .array(let entries)? = json["keys"],
            entries.count <= 64
        else { return nil }
        var keys: [String: _RSA.Signing.PublicKey] = [:]
        for entry in entries {
            guard entry["kty"]?.text == "RSA", entry["use"]?.text ?? "sig" == "sig",
                entry["alg"]?.text ?? "RS256" == "RS256",
                let id = entry["kid"]?.text, SignedToken.isKeyID(id),
                let modulus = entry["n"]?.text.flatMap({ Base64.decode($0, alphabet: .urlSafe) }),
                let exponent = entry["e"]?.text.flatMap({ Base64.decode($0, alphabet: .urlSafe) }),
                // The library rejects keys shorter than 2048 bits.
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
            else { continue }
            guard keys.updateValue(key, forKey: id) == nil else { return nil }
        }
        guard !keys.isEmpty else { return nil }
        self.keys = keys
    }

    /// Whether the set has a key with this id.
    func contains(_ keyID: String) -> Bool { keys[keyID] != nil }

    /// Whether an RS256 signature verifies with the key of this id; nil if the set lacks the key.
    func isValid(signature: [UInt8], of bytes: some Collection<UInt8>, keyID: String) -> Bool? {
        guard let key = keys[keyID] else { return nil }
        let digest = SHA256.hash(data: Array(bytes))
        return key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: digest,
            padding: .insecurePKCS1v1_5
        )
    }
}
