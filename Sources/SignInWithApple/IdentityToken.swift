#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The claims of a verified identity token about a person.
package struct IdentityToken: Sendable, Hashable {
    /// The person's id, one per team; it stays the same after a revocation and a new sign-in.
    package let sub: String
    /// The configured client id that the token is for.
    let audience: String

    /// Verifies a compact JWS against Apple's keys at a given time; `keys` is nil if there are none.
    ///
    /// A pure function. `audiences` are the client ids that the token may be for.
    static func verify(
        _ token: String,
        keys: AppleKeySet?,
        audiences: Set<String>,
        now: Date
    ) -> Verdict {
        switch SignedToken.verify(Array(token.utf8), keys: keys) {
        case .unknownKey(let keyID): return .unknownKey(keyID)
        case .refused(let problem): return .refused(problem)
        case .verified(let payload):
            do {
                return .verified(try IdentityToken(payload, audiences: audiences, now: now))
            } catch {
                return .refused(error)
            }
        }
    }

    /// Reads a token that Apple sent over our own connection, without checking its signature or dates.
    static func read(fromApple token: String, audiences: Set<String>) -> Result<Self, TokenProblem> {
        guard let payload = SignedToken.unsignedPayload(Array(token.utf8)) else { return .failure(.malformed) }
        do {
            return .success(try IdentityToken(payload, audiences: audiences, now: nil))
        } catch {
            return .failure(error)
        }
    }

    /// The result of a verification.
    enum Verdict: Sendable, Hashable {
        /// Signed by Apple, addressed to us, and valid now.
        case verified(IdentityToken)
        /// Signed with a key that the set lacks; the caller fetches the keys and verifies again.
        case unknownKey(String)
        /// Not authentic or not valid.
        case refused(TokenProblem)
    }

    private init(_ payload: StrictJSON, audiences: Set<String>, now: Date?) throws(TokenProblem) {
        let claims = try TokenClaims(
            payload,
            audiences: audiences,
            clock: now.map { (arrived: $0, now: $0) },
            datesRequired: true
        )
        guard let sub = payload["sub"]?.text, (1...255).contains(sub.utf8.count) else { throw .missingClaim }
        self.sub = sub
        audience = claims.audience
    }
}

extension IdentityToken: CustomStringConvertible {
    /// Only the client id, since everything else is personal data.
    package var description: String { "<identity token for \(audience)>" }
}

extension AppleClients {
    /// Verifies an identity token, fetching Apple's keys if needed.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - clientID: The client id it must be for, which is the one whose code or token came with it.
    /// - Returns: The token, or why it was refused.
    /// - Throws: `CancellationError`.
    package func verify(
        identityToken token: String,
        for clientID: String
    ) async throws(CancellationError) -> Result<IdentityToken, TokenProblem> {
        let (audiences, arrived): (Set<String>, _) = ([clientID], moment)
        var lookup = try await keys.lookup(arrived: arrived)
        for isLastTry in [false, true] {
            switch IdentityToken.verify(token, keys: lookup.set, audiences: audiences, now: moment) {
            case .verified(let token): return .success(token)
            case .refused(let problem): return .failure(problem)
            case .unknownKey(let keyID):
                if isLastTry { break }
                lookup = try await keys.lookup(keyID, arrived: arrived)
            }
        }
        // The token has only just arrived, so a key that is not listed yet may still be published.
        return .failure(.keysUnavailable)
    }

    /// Verifies the identity token that Apple sent in its answer to an exchange.
    ///
    /// The token is verified like any other. If the key is unavailable or not published yet, or our clock differs from
    /// Apple's by minutes, the connection vouches for the token in place of the signature and the dates, as OpenID
    /// Connect Core 1.0 (3.1.3.7, point 6) allows for a token straight from the token endpoint. The code is spent by
    /// then, and a grant that is thrown away can never be revoked. The other claims are checked in any case.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - clientID: The client whose code was exchanged.
    /// - Returns: The token, or why it was refused.
    /// - Throws: `CancellationError`.
    package func verify(
        identityTokenFromApple token: String,
        for clientID: String
    ) async throws(CancellationError) -> Result<IdentityToken, TokenProblem> {
        let result = try await verify(identityToken: token, for: clientID)
        switch result {
        case .failure(.keysUnavailable), .failure(.notYetIssued), .failure(.expired):
            return isConnectionTrusted ? IdentityToken.read(fromApple: token, audiences: [clientID]) : result
        case .success, .failure: return result
        }
    }

    /// Whether any of Apple's keys are cached or can be fetched now.
    ///
    /// - Throws: `CancellationError`.
    package func hasKeys() async throws(CancellationError) -> Bool {
        try await keys.lookup(arrived: moment).set != nil
    }
}
