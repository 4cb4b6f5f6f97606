package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The JWT by which a client proves to Apple who it is; minted for each call, so that none is ever old.
package enum ClientSecret {
    /// The longest life Apple takes, about six months.
    static let longestLifetime: Duration = .seconds(15_777_000)
    /// The audience, exactly as Apple wants it.
    static let audience = AppleClients.appleAddress
    /// How far `iat` lies in the past: Apple refuses tokens from what it believes to be the future.
    static let backdating: Duration = .seconds(30)

    /// How long a secret lives that is minted for a call.
    package static let usualLifetime: Duration = .seconds(300)

    /// By how many seconds a clock is ahead of Apple's, where Apple would refuse what is minted by it, as of the future or
    /// as over; less than none where it is behind, nil where it is right enough.
    static func fault(of clock: Date, apple: Date) -> Int? {
        let ahead = Int(clock.timeIntervalSince(apple))
        let tolerated = Int(-usualLifetime.components.seconds)...Int(backdating.components.seconds)
        return tolerated.contains(ahead) ? nil : ahead
    }

    /// Mints a secret, as a compact JWT.
    ///
    /// It is good for `lifetime` from `now` on, at most ``longestLifetime`` less the backdating.
    ///
    /// - Throws: What the signing library throws; with a key that could be read it does not.
    package static func mint(
        for identity: AppleClientIdentity,
        now: Date,
        lifetime: Duration = ClientSecret.usualLifetime
    ) throws -> Secret<String> {
        let issuedAt = Int64(now.timeIntervalSince1970) - backdating.components.seconds
        let expires = issuedAt + min(lifetime + backdating, longestLifetime).components.seconds
        let header = #"{"alg":"ES256","kid":"\#(identity.keyID)"}"#
        // The identity's parts are letters, digits, dots, hyphens and underscores: nothing to escape.
        let payload =
            #"{"iss":"\#(identity.teamID)","iat":\#(issuedAt),"exp":\#(expires),"#
            + #""aud":"\#(audience)","sub":"\#(identity.clientID)"}"#
        let signed =
            Base64.encode(Array(header.utf8), alphabet: .urlSafe) + "."
            + Base64.encode(Array(payload.utf8), alphabet: .urlSafe)
        let signature = try identity.key.signature(of: Array(signed.utf8))
        return Secret(signed + "." + Base64.encode(signature, alphabet: .urlSafe))
    }
}
