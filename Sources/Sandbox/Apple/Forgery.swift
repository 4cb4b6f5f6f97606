import Crypto
import CryptoExtras
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A defect of a notification or identity token; receivers must refuse every one of these.
package enum Forgery: String, Sendable, Codable, CaseIterable {
    /// `alg` none and no signature.
    case unsigned
    /// HS256 with the published key's text as the secret.
    case hmacWithPublicKey = "hmac-with-public-key"
    /// Signed by a key that was never published, under a published name.
    case foreignKey = "foreign-key"
    /// Signed by a key that was never published, under its own name.
    case unknownKeyID = "unknown-key-id"
    case missingKeyID = "missing-key-id"
    /// A genuine signature over other claims.
    case swappedClaims = "swapped-claims"
    case foreignIssuer = "foreign-issuer"
    case foreignAudience = "foreign-audience"
    case expired
    case issuedInFuture = "issued-in-future"
    /// Cut off in the middle of the signature.
    case truncated
}

extension AppleSandbox {
    /// The signed token of a notification, or a forged one.
    package func sign(_ notification: AppleNotification, forgery: Forgery? = nil) throws -> String {
        let key = state.withLock { $0.keyRing.notificationKey }
        var notification = notification
        if forgery == .foreignAudience { notification.audience = "com.example.somebody-else" }
        var claims = NotificationClaims(notification)
        let genuine = ["alg": "RS256", "kid": key.id]
        switch forgery {
        case nil, .foreignAudience:
            return try CompactJWS.make(header: genuine, claims: claims, sign: key.sign)
        case .unsigned:
            return try CompactJWS.make(header: ["alg": "none", "kid": key.id], claims: claims) { _ in [] }
        case .hmacWithPublicKey:
            let secret = SymmetricKey(data: Data(key.key.publicKey.pemRepresentation.utf8))
            return try CompactJWS.make(header: ["alg": "HS256", "kid": key.id], claims: claims) { bytes in
                Array(HMAC<SHA256>.authenticationCode(for: bytes, using: secret))
            }
        case .foreignKey:
            return try CompactJWS.make(header: genuine, claims: claims, sign: Self.foreignKey().sign)
        case .unknownKeyID:
            let foreign = try Self.foreignKey()
            return try CompactJWS.make(header: ["alg": "RS256", "kid": foreign.id], claims: claims, sign: foreign.sign)
        case .missingKeyID:
            return try CompactJWS.make(header: ["alg": "RS256"], claims: claims, sign: key.sign)
        case .swappedClaims:
            let token = try CompactJWS.make(header: genuine, claims: claims, sign: key.sign)
            notification.sub = RandomText.subject()
            let other = try CompactJWS.make(header: genuine, claims: NotificationClaims(notification)) { _ in [] }
            return other + (token.split(separator: ".").last ?? "")
        case .foreignIssuer:
            claims.iss = "https://account.apple.com"
            return try CompactJWS.make(header: genuine, claims: claims, sign: key.sign)
        case .expired:
            claims.iat -= 2 * Int(AppleConstants.identityTokenLife)
            claims.exp = claims.iat + Int(AppleConstants.identityTokenLife)
            return try CompactJWS.make(header: genuine, claims: claims, sign: key.sign)
        case .issuedInFuture:
            claims.iat += 3600
            claims.exp = claims.iat + Int(AppleConstants.identityTokenLife)
            return try CompactJWS.make(header: genuine, claims: claims, sign: key.sign)
        case .truncated:
            return String(try CompactJWS.make(header: genuine, claims: claims, sign: key.sign).dropLast(40))
        }
    }

    /// A key pair that no sandbox publishes.
    private static func foreignKey() throws -> AppleSigningKey {
        AppleSigningKey(id: RandomText.hex(length: 7), key: try SigningKeyPairs.pair(SigningKeyPairs.foreign))
    }
}
