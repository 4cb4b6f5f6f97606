import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The complete check of a client secret, as TN3107 describes it.
enum ClientSecret {
    /// The maximum lifetime that Apple allows, in seconds.
    static let longestLife: Double = 15_777_000

    /// A public key that verifies client secrets.
    struct Key: Sendable {
        let id: String
        let teamID: String
        let publicKey: P256.Signing.PublicKey
        /// The primary App IDs that the key is valid for.
        var groups: Set<String>
    }

    /// Why a client secret was refused; Apple itself only answers `invalid_client`.
    enum Refusal: Error, Equatable, CustomStringConvertible {
        case notAToken, algorithm(String), noKeyID, unknownKey, signatureLength(Int), signature, claims
        case issuer, subject, audience, issuedInFuture, expired, livesTooLong, foreignKey

        var description: String {
            switch self {
            case .notAToken: "the client secret is not a signed token"
            case .algorithm(let name): "the client secret is signed with \(name), not ES256"
            case .noKeyID: "the client secret names no key"
            case .unknownKey: "the client secret names an unknown key"
            case .signatureLength(let length): "the signature has \(length) bytes, not the 64 of the raw form"
            case .signature: "the signature is wrong"
            case .claims: "a claim of the client secret is missing or of the wrong type"
            case .issuer: "iss is not the team of the key"
            case .subject: "sub is not the client_id"
            case .audience: "aud is not https://appleid.apple.com"
            case .issuedInFuture: "iat lies in the future"
            case .expired: "the client secret has expired"
            case .livesTooLong: "exp lies more than 15777000 s ahead"
            case .foreignKey: "the key does not belong to the primary App ID of the client"
            }
        }
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String?
    }

    private struct Claims: Decodable {
        let iss: String
        let iat: Double
        let exp: Double
        let aud: String
        let sub: String
    }

    /// Checks a secret and returns the key that signed it.
    static func check(
        _ secret: String,
        client: AppleClient,
        keys: [String: Key],
        now: Date
    ) throws(Refusal) -> Key {
        guard
            let token = CompactJWS(secret),
            let header = try? JSONDecoder().decode(Header.self, from: Data(token.header))
        else { throw .notAToken }
        guard header.alg == "ES256" else { throw .algorithm(header.alg) }
        guard let keyID = header.kid, !keyID.isEmpty else { throw .noKeyID }
        guard let key = keys[keyID] else { throw .unknownKey }
        guard token.signature.count == 64 else { throw .signatureLength(token.signature.count) }
        guard
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature),
            key.publicKey.isValidSignature(signature, for: Data(token.signed.utf8))
        else { throw .signature }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(token.payload)) else { throw .claims }
        let present = now.timeIntervalSince1970
        guard claims.iss == key.teamID else { throw .issuer }
        guard claims.sub == client.id else { throw .subject }
        guard claims.aud == AppleConstants.issuer else { throw .audience }
        guard claims.iat <= present else { throw .issuedInFuture }
        guard claims.exp > present else { throw .expired }
        guard claims.exp - present <= longestLife else { throw .livesTooLong }
        guard key.groups.contains(client.group) else { throw .foreignKey }
        return key
    }
}
