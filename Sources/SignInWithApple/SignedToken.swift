import Sealing

/// Verification of a compact JWS from Apple, accepting only RS256 with one of Apple's keys.
///
/// The algorithm is never taken from the token, and the payload is not parsed before the signature is verified.
enum SignedToken {
    /// The maximum length of a token, in bytes.
    static let longest = 16_384

    enum Verdict: Sendable {
        case verified(StrictJSON)
        case unknownKey(String)
        case refused(TokenProblem)
    }

    static func verify(_ token: [UInt8], keys: AppleKeySet?) -> Verdict {
        guard token.count <= longest else { return .refused(.tooLarge) }
        guard let firstDot = token.firstIndex(of: 0x2E), let lastDot = token.lastIndex(of: 0x2E), firstDot < lastDot,
            let headerBytes = Base64.decode(token[..<firstDot], alphabet: .urlSafe),
            let header = try? StrictJSON(parsing: headerBytes, maximumDepth: 2), case .object = header
        else { return .refused(.malformed) }

        guard header["alg"]?.text == "RS256" else { return .refused(.algorithm) }
        // RFC 7515 section 4.1.11: a token with extensions that the reader does not understand must be refused.
        guard header["crit"] == nil else { return .refused(.malformed) }
        guard let keyID = header["kid"]?.text, isKeyID(keyID) else { return .refused(.noKeyID) }
        guard let keys, keys.contains(keyID) else { return .unknownKey(keyID) }

        guard let signature = Base64.decode(token[(lastDot + 1)...], alphabet: .urlSafe),
            keys.isValid(signature: signature, of: token[..<lastDot], keyID: keyID) == true
        else { return .refused(.signature) }

        guard let payloadBytes = Base64.decode(token[(firstDot + 1)..<lastDot], alphabet: .urlSafe),
            let payload = try? StrictJSON(parsing: payloadBytes), case .object = payload
        else { return .refused(.payload) }
        return .verified(payload)
    }

    /// The payload of a token whose signature could not be checked.
    ///
    /// Use this only for a token that Apple itself sent over our own connection.
    static func unsignedPayload(_ token: [UInt8]) -> StrictJSON? {
        guard token.count <= longest, let firstDot = token.firstIndex(of: 0x2E),
            let lastDot = token.lastIndex(of: 0x2E),
            firstDot < lastDot, let bytes = Base64.decode(token[(firstDot + 1)..<lastDot], alphabet: .urlSafe),
            let payload = try? StrictJSON(parsing: bytes), case .object = payload
        else { return nil }
        return payload
    }

    static func isKeyID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    }
}

/// Why a token or notification was refused: it is not from Apple, or not for us.
package enum TokenProblem: String, Error, Sendable, Hashable, CustomStringConvertible {
    case tooLarge
    case malformed
    case algorithm
    case noKeyID
    case unknownKey
    case keysUnavailable
    case signature
    case payload
    case issuer
    case audience
    case expired
    case notYetIssued
    case missingClaim

    /// Whether the same token may be accepted later, once the keys are available or our clock is corrected.
    package var mayPass: Bool { self == .keysUnavailable || self == .notYetIssued }

    /// The problem in a few words.
    package var description: String {
        switch self {
        case .tooLarge: "too large"
        case .malformed: "not a signed token"
        case .algorithm: "the algorithm is not RS256"
        case .noKeyID: "no usable key id"
        case .unknownKey: "signed with a key that is not Apple's"
        case .keysUnavailable: "Apple's keys could not be fetched, or lack this one so far"
        case .signature: "the signature is wrong"
        case .payload: "the signed payload is not understood"
        case .issuer: "not issued by Apple"
        case .audience: "for a client id that is not configured here"
        case .expired: "expired"
        case .notYetIssued: "issued in the future"
        case .missingClaim: "a claim is missing"
        }
    }
}
