#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a verified identity token says about a person.
package struct IdentityToken: Sendable, Hashable {
    /// The person's id, one per team; the same after revoking and coming back.
    package let sub: String
    /// The client id the token is for, one of the configured.
    let audience: String

    /// Checks a token, a compact JWS, against Apple's keys at a moment; `keys` is nil when there are none.
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

    /// Reads a token that Apple gave over a connection of ours; neither its signature nor its dates are judged.
    static func read(fromApple token: String, audiences: Set<String>) -> Result<Self, TokenProblem> {
        guard let payload = SignedToken.unsignedPayload(Array(token.utf8)) else { return .failure(.malformed) }
        do {
            return .success(try IdentityToken(payload, audiences: audiences, now: nil))
        } catch {
            return .failure(error)
        }
    }

    /// What a check found.
    enum Verdict: Sendable, Hashable {
        /// Apple's, for us, now.
        case verified(IdentityToken)
        /// Signed with a key that the set lacks: fetch and check again.
        case unknownKey(String)
        /// Not to be believed.
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
    /// The client id alone: everything else is about a person.
    package var description: String { "<identity token for \(audience)>" }
}

extension AppleClients {
    /// Verifies an identity token, fetching Apple's keys where needed.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - clientID: The client it must be for: the one whose code or token brought it.
    /// - Returns: The token, or why it is not believed.
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
        // A key that is not listed yet may be in a while: the token came only now.
        return .failure(.keysUnavailable)
    }

    /// Reads the identity token that Apple gave us in its answer to an exchange.
    ///
    /// It is verified like any other. Only where the key cannot be had, for the moment or because Apple does not
    /// publish it yet, or our clock is minutes away from Apple's, the connection vouches for it in place of the
    /// signature and the dates, as OpenID Connect Core 1.0 (3.1.3.7, point 6) allows for a token that comes straight
    /// from the token endpoint: the code is spent by then, and a grant that is thrown away can never be revoked. The
    /// other claims are checked all the same.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - clientID: The client whose code was exchanged.
    /// - Returns: The token, or why it is not believed.
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

    /// Whether any of Apple's keys are at hand or can be had now.
    ///
    /// - Throws: `CancellationError`.
    package func hasKeys() async throws(CancellationError) -> Bool {
        try await keys.lookup(arrived: moment).set != nil
    }
}
