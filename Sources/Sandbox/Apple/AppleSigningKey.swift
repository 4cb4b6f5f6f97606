import Crypto
import CryptoExtras
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An RS256 key of the simulated Apple, which signs identity tokens and notifications.
struct AppleSigningKey: Sendable {
    let id: String
    let key: _RSA.Signing.PrivateKey

    /// Signs the bytes with RS256.
    func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        Array(try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
    }

    /// The key's entry in the set that `/auth/keys` publishes.
    func jwk() throws -> JSONWebKey {
        let numbers = try key.publicKey.getKeyPrimitives()
        return JSONWebKey(
            kid: id,
            n: Base64URL.encode(numbers.modulus.drop { $0 == 0 }),
            e: Base64URL.encode(numbers.publicExponent.drop { $0 == 0 })
        )
    }
}

/// A public key in the form of RFC 7517.
struct JSONWebKey: Encodable {
    let kty = "RSA"
    let kid: String
    let use = "sig"
    let alg = "RS256"
    let n: String
    let e: String
}

/// Key pairs shared by all sandboxes of a process, since generating one takes longer than most tests.
///
/// The pairs are generated on first use and never leave the process. Each sandbox gives them new names.
enum SigningKeyPairs {
    /// The index of the pair that no key ring uses.
    static let foreign = AppleKeyRing.size * 2

    private static let pairs = Mutex<[_RSA.Signing.PrivateKey]>([])

    static func pair(_ index: Int) throws -> _RSA.Signing.PrivateKey {
        try pairs.withLock { pairs in
            while pairs.count <= index { pairs.append(try _RSA.Signing.PrivateKey(keySize: .bits2048)) }
            return pairs[index]
        }
    }
}
