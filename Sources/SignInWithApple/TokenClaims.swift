#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The checked claims that identity tokens and notifications share.
struct TokenClaims {
    /// Apple's issuer.
    ///
    /// Fixed, since Apple's own discovery document once named another issuer for a day.
    static let issuer = AppleClients.appleAddress
    /// The tolerated difference between clocks, in seconds.
    static let skew: Double = 60

    let audience: String
    let issuedAt: Date

    /// Checks the claims; expiry is checked at the time of arrival, and `iat` at the current time.
    ///
    /// A token may expire while it waits to be checked, and a clock that is corrected meanwhile must not make it one of
    /// the future. Without a clock, the dates are read but not checked. Unless the dates are required, one that cannot be
    /// read counts as missing.
    init(
        _ payload: StrictJSON,
        audiences: Set<String>,
        clock: (arrived: Date, now: Date)?,
        datesRequired: Bool
    ) throws(TokenProblem) {
        guard payload["iss"]?.text == Self.issuer else { throw .issuer }
        guard let audience = Self.audience(payload["aud"], among: audiences) else { throw .audience }
        guard let issuedAt = Self.date(payload["iat"]) ?? (datesRequired ? nil : clock?.arrived) else {
            throw .missingClaim
        }
        if let clock, issuedAt.timeIntervalSince(clock.now) > Self.skew { throw .notYetIssued }
        if let expires = Self.date(payload["exp"]) {
            if let clock, clock.arrived.timeIntervalSince(expires) >= Self.skew { throw .expired }
        } else if datesRequired {
            throw payload["exp"] == nil ? .missingClaim : .payload
        }
        self.audience = audience
        self.issuedAt = issuedAt
    }

    private static func audience(_ claim: StrictJSON?, among audiences: Set<String>) -> String? {
        switch claim {
        case .string(let text): audiences.contains(text) ? text : nil
        case .array(let entries): entries.lazy.compactMap(\.text).first { audiences.contains($0) }
        default: nil
        }
    }

    /// Parses seconds since 1970 within the range of dates that we store.
    static func date(_ claim: StrictJSON?) -> Date? {
        guard case .number(let seconds)? = claim, (0..<1e11).contains(seconds) else { return nil }
        return Date(timeIntervalSince1970: seconds)
    }
}
