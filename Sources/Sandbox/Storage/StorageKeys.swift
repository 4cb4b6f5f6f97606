import Crypto

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The keys of the simulated project, generated at run time.
package struct StorageKeys: Sendable {
    /// The secret that signs access tokens and the legacy keys.
    let jwtSecret: String
    /// The legacy `service_role` key, a token sent in both `Authorization` and `apikey`.
    package let serviceRoleKey: String
    /// The legacy `anon` key, a token.
    package let anonKey: String
    /// The new secret key, sent only in `apikey`.
    package let secretKey: String
    /// The new publishable key, sent only in `apikey`.
    let publishableKey: String

    init(now: Date) throws {
        let secret = RandomText.token(length: 40)
        jwtSecret = secret
        let tenYears = now.addingTimeInterval(10 * 365 * 86_400)
        serviceRoleKey = try Self.token(role: "service_role", secret: secret, issuedAt: now, expiresAt: tenYears)
        anonKey = try Self.token(role: "anon", secret: secret, issuedAt: now, expiresAt: tenYears)
        secretKey = "sb_secret_" + RandomText.token(length: 31)
        publishableKey = "sb_publishable_" + RandomText.token(length: 31)
    }

    /// The access token of a signed-in user, as Auth issues it.
    package func accessToken(
        userID: String,
        email: String? = nil,
        issuedAt: Date = Date(),
        lifetime: Duration = .seconds(3600)
    ) throws -> String {
        try Self.token(
            role: "authenticated",
            secret: jwtSecret,
            issuedAt: issuedAt,
            expiresAt: issuedAt.addingTimeInterval(lifetime / .seconds(1)),
            subject: userID,
            email: email
        )
    }

    private struct Claims: Encodable {
        let iss = "supabase"
        let role: String
        let iat: Int
        let exp: Int
        let sub: String?
        let email: String?
        let aud: String?
    }

    private static func token(
        role: String,
        secret: String,
        issuedAt: Date,
        expiresAt: Date,
        subject: String? = nil,
        email: String? = nil
    ) throws -> String {
        let claims = Claims(
            role: role,
            iat: Int(issuedAt.timeIntervalSince1970),
            exp: Int(expiresAt.timeIntervalSince1970),
            sub: subject,
            email: email,
            aud: subject.map { _ in "authenticated" }
        )
        return try CompactJWS.make(header: ["alg": "HS256", "typ": "JWT"], claims: claims) { bytes in
            Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: Data(secret.utf8))))
        }
    }
}
