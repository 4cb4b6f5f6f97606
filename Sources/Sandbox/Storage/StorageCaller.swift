import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The caller of a request to Storage, after the gateway and the server have checked its keys.
struct StorageCaller: Sendable {
    /// The database role that the statements run as.
    let role: String
    /// The token's claims as text, for request.jwt.claims.
    let claims: String
    /// The token's `sub`, which becomes the owner of uploaded objects.
    let subject: String?

    private struct Header: Decodable {
        let alg: String
    }

    private struct Claims: Decodable {
        let role: String?
        let sub: String?
        let exp: Double?
    }

    /// A refusal by the gateway, before Storage sees the request.
    struct GatewayRefusal: Error {
        let message: String
        let hint: String?
    }

    init(_ request: ReceivedRequest, keys: StorageKeys, now: Date) throws {
        let apiKey = request.header("apikey")
        if let apiKey {
            guard [keys.serviceRoleKey, keys.anonKey, keys.secretKey, keys.publishableKey].contains(apiKey) else {
                throw GatewayRefusal(
                    message: "Invalid API key",
                    hint: "Double check your Supabase `anon` or `service_role` API key."
                )
            }
            if apiKey == keys.secretKey, request.header("user-agent")?.hasPrefix("Mozilla/") == true {
                throw GatewayRefusal(message: "Forbidden use of secret API key in browser", hint: nil)
            }
        }
        if let bearer = request.bearer {
            // The new keys are not tokens: as Bearer they are refused here, even if `apikey` has the same value.
            self = try Self.verified(bearer, keys: keys, now: now)
        } else if apiKey == keys.secretKey {
            self = try Self.verified(keys.serviceRoleKey, keys: keys, now: now)
        } else if apiKey == keys.publishableKey {
            self = try Self.verified(keys.anonKey, keys: keys, now: now)
        } else {
            throw StorageFailure.invalidRequest("headers must have required property 'authorization'")
        }
    }

    private init(role: String, claims: String, subject: String?) {
        self.role = role
        self.claims = claims
        self.subject = subject
    }

    private static func verified(_ token: String, keys: StorageKeys, now: Date) throws(StorageFailure) -> StorageCaller
    {
        let secret = SymmetricKey(data: Data(keys.jwtSecret.utf8))
        guard
            let jws = CompactJWS(token),
            let header = try? JSONDecoder().decode(Header.self, from: Data(jws.header)),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(jws.payload))
        else { throw .accessDenied("Invalid Compact JWS") }
        guard
            header.alg == "HS256",
            HMAC<SHA256>.isValidAuthenticationCode(
                jws.signature,
                authenticating: Array(jws.signed.utf8),
                using: secret
            )
        else { throw .accessDenied("signature verification failed") }
        if let exp = claims.exp, exp <= now.timeIntervalSince1970 {
            throw .accessDenied("\"exp\" claim timestamp check failed")
        }
        let role = claims.role ?? "anon"
        guard ["anon", "authenticated", "service_role"].contains(role) else {
            throw .accessDenied("role \"\(role)\" does not exist")
        }
        return StorageCaller(role: role, claims: String(decoding: jws.payload, as: UTF8.self), subject: claims.sub)
    }
}
