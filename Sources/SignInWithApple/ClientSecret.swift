package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The JWT that authenticates a client to Apple, minted anew for each call.
package enum ClientSecret {
    /// The maximum lifetime that Apple accepts, about six months.
    static let longestLifetime: Duration = .seconds(15_777_000)
    /// The audience exactly as Apple requires it.
    static let audience = AppleClients.appleAddress
    /// How far `iat` is backdated, since Apple rejects tokens that its clock considers issued in the future.
    static let backdating: Duration = .seconds(30)

    /// The lifetime of a secret that is minted for a call.
    package static let usualLifetime: Duration = .seconds(300)

    /// How many seconds a clock is ahead of Apple's, if Apple would reject secrets minted by it as issued in the future
    /// or expired; negative if it is behind, nil if it is accurate enough.
    static func fault(of clock: Date, apple: Date) -> Int? {
        let ahead = Int(clock.timeIntervalSince(apple))
        let tolerated = Int(-usualLifetime.components.seconds)...Int(backdating.components.seconds)
        return tolerated.contains(ahead) ? nil : ahead
    }

    /// Mints a secret as a compact JWT.
    ///
    /// The secret is valid for `lifetime` from `now` on, at most ``longestLifetime`` minus the backdating.
    ///
    /// - Throws: Errors of the signing library; none is expected for a key that was parsed.
    package static func mint(
        for identity: AppleClientIdentity,
        now: Date,
        lifetime: Duration = ClientSecret.usualLifetime
    ) throws -> Secret<String> {
        let issuedAt = Int64(now.timeIntervalSince1970) - backdating.components.seconds
        let expires = issuedAt + min(lifetime + backdating, longestLifetime).components.seconds
        let header = #"{"alg":"ES256","kid":"\#(identity.keyID)"}"#
        // The identity's parts contain only letters, digits, dots, hyphens and underscores, so nothing needs escaping.
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
