package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The client secret that Supabase stores for the web flow: a JWT that expires silently after six months.
package struct StaticClientSecret: Sendable, Hashable {
    /// How many days before its expiry the warnings start.
    package static let warningDays = 30

    /// The header's algorithm, which must be ES256.
    let algorithm: String?
    /// The id of the signing key.
    package let keyID: String?
    /// The team (`iss`).
    package let teamID: String?
    /// The client id (`sub`).
    package let clientID: String?
    /// When it was issued.
    package let issuedAt: Date?
    /// When it expires.
    package let expiresAt: Date?
    /// The properties that Apple would reject.
    package let problems: [Problem]

    /// The result of inspecting a text.
    package enum Inspection: Sendable, Hashable {
        /// A client secret, valid or not.
        case clientSecret(StaticClientSecret)
        /// The `.p8` key itself, which must never be entered in a form field; if it was stored there, replace it at
        /// Apple.
        case privateKey
        /// Something else.
        case notASecret
    }

    /// A property that Apple would reject.
    package enum Problem: String, Sendable, Hashable, CustomStringConvertible {
        case algorithm
        case signature
        case noKeyID
        case audience
        case noTeamID
        case noClientID
        case noEnd
        case tooLong
        case expired
        case issuedInTheFuture

        /// The problem in a few words.
        package var description: String {
            switch self {
            case .algorithm: "not signed with ES256"
            case .signature: "the signature is not the 64 bytes of ES256: cut or changed on the way, or in DER"
            case .noKeyID: "names no key of ten characters (kid)"
            case .audience: "the audience is not \(ClientSecret.audience)"
            case .noTeamID: "names no team of ten characters (iss)"
            case .noClientID: "names no client id (sub)"
            case .noEnd: "has no expiry (exp) or no issue time (iat)"
            case .tooLong: "is valid for more than six months, which Apple rejects"
            case .expired: "has expired"
            case .issuedInTheFuture: "is issued in the future"
            }
        }
    }

    /// Determines what a text is, and parses it.
    ///
    /// The text comes from Supabase's settings. Only the length of the signature is checked, since more would require the
    /// key.
    package static func inspect(_ text: Secret<String>, now: Date) -> Inspection {
        let value = text.reveal().filter { !$0.isWhitespace && $0 != .byteOrderMark }
        if let secret = StaticClientSecret(token: value, now: now) { return .clientSecret(secret) }
        if (try? ApplePrivateKey(parsing: text)) != nil || text.reveal().contains("PRIVATE KEY") { return .privateKey }
        return .notASecret
    }

    /// The whole days until it expires, negative afterwards; nil without an expiry.
    package func daysLeft(at now: Date) -> Int? {
        expiresAt.map { Int(($0.timeIntervalSince(now) / 86_400).rounded(.down)) }
    }

    private init?(token: String, now: Date) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, token.utf8.count <= 4096,
            let header = Base64.decode(parts[0], alphabet: .urlSafe).flatMap({ try? StrictJSON(parsing: $0) }),
            let payload = Base64.decode(parts[1], alphabet: .urlSafe).flatMap({ try? StrictJSON(parsing: $0) })
        else { return nil }
        algorithm = header["alg"]?.text
        keyID = header["kid"]?.text
        teamID = payload["iss"]?.text
        clientID = payload["sub"]?.text
        issuedAt = TokenClaims.date(payload["iat"])
        expiresAt = TokenClaims.date(payload["exp"])

        var problems: [Problem] = []
        if algorithm != "ES256" {
            problems.append(.algorithm)
        } else if Base64.decode(parts[2], alphabet: .urlSafe)?.count != 64 {
            problems.append(.signature)
        }
        if keyID?.utf8.count != 10 { problems.append(.noKeyID) }
        if payload["aud"]?.text != ClientSecret.audience { problems.append(.audience) }
        if teamID?.utf8.count != 10 { problems.append(.noTeamID) }
        if clientID?.isEmpty ?? true { problems.append(.noClientID) }
        if let issuedAt, let expiresAt {
            let longest = Double(ClientSecret.longestLifetime.components.seconds)
            if expiresAt.timeIntervalSince(max(issuedAt, now)) > longest { problems.append(.tooLong) }
            if expiresAt <= now { problems.append(.expired) }
            if issuedAt.timeIntervalSince(now) > TokenClaims.skew { problems.append(.issuedInTheFuture) }
        } else {
            problems.append(.noEnd)
        }
        self.problems = problems
    }

    /// Whether a text looks like a JWT: three parts, the first of which is an encoded object.
    static func looksLikeToken(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && text.hasPrefix("eyJ")
    }
}
