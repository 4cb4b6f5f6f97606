import Sealing
package import SignInWithApple
import Waiting

/// The lifecycle's calls to Apple, with answers in terms of what they mean for an account.
package struct AppleGateway: Sendable {
    /// A grant that Apple issued for a code, verified.
    struct Grant: Sendable {
        let refreshToken: Secret<String>
        /// The `sub` of the identity token: the person for whom the grant was issued.
        let subject: String
        let clientID: String
        /// The team with whose key it was obtained.
        let teamID: String
    }

    /// The result of exchanging a code at Apple.
    enum Exchange: Sendable {
        case granted(Grant)
        /// Expired, used, of another client id or of another redirect URI; only Apple's message tells which.
        case refused(AppleRefusal, clientID: String)
        /// Refused, with nothing granted, because of the code or of the client id: ``AppleGateway/test(_:)`` tells
        /// which.
        case doubtful(AppleRefusal, clientID: String)
        /// Apple issued a grant that cannot be used: no identity token, or one that does not verify.
        case unusable(TokenProblem?)
        /// Apple may have acted, but its answer was lost.
        case answerLost(AppleDelay)
        /// Apple did not process the code.
        case trouble(Situation)
    }

    /// The result of revoking at Apple.
    enum Revocation: Sendable, Hashable {
        case revoked
        /// Apple has answered, and the token is of a team that the client id left.
        ///
        /// It counts as not revoked whatever the answer, since Apple calls such a dead token revoked while the person's
        /// authorization of the app remains. Trying again is in vain.
        case ofFormerTeam
        /// Apple was asked, and knows no such grant under this client id.
        case unknownGrant(Situation)
        /// Apple was asked, and did not revoke.
        case trouble(Situation)
        /// Nothing was sent: Apple rejected the client id a while ago, or it is not configured.
        case unasked(Situation)
    }

    private let clients: AppleClients?
    private let selfTests: RecentlyGood<String, Situation>

    /// - Parameter clients: nil if nothing is configured; credentials that are held nevertheless wait for it.
    package init(_ clients: AppleClients?) {
        self.clients = clients
        selfTests = RecentlyGood { try await Self.test($0, of: clients) }
    }

    /// The longest that one call may take, including its repeats.
    var longestCall: Duration { clients?.longestCall ?? .zero }

    /// Why a call for this client id would not be sent now, determined without sending any token; nil if it would be.
    func pause(of clientID: String) async throws -> Situation? {
        guard let clients, clients[clientID] != nil else { return Self.unconfigured(clientID) }
        if let delay = clients.pause(of: clientID) { return Self.situation(delay, clientID) }
        // The call would begin with a test, and would not be sent if that fails.
        return clients.isUntested(clientID) ? try await Self.test(clientID, of: clients) : nil
    }

    /// Waits until a call could be sent at once, and has `body` make it, so that the call's time limit does not run
    /// while it queues.
    ///
    /// Conditions that have to hold when the call is sent are to be checked in `body`.
    func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let clients else { return try await body() }
        return try await clients.inTurn(body)
    }

    /// The situation that prevents a credential of this client id from being revoked now, determined without using
    /// anything up.
    func trouble(with clientID: String) async throws -> Situation? {
        try await selfTests.trouble(with: clientID)
    }

    /// The fault of a client id, by a test that is made now; nil if Apple accepts it.
    func test(_ clientID: String) async throws -> Situation? {
        try await Self.test(clientID, of: clients)
    }

    /// Exchanges a code, and verifies for whom the grant was issued; without a client id, the only configured one is
    /// used.
    func exchange(_ code: Secret<String>, clientID: String?, redirectURI: String?) async throws -> Exchange {
        guard let clients, let clientID = clientID ?? onlyClientID, let client = clients[clientID] else {
            return .trouble(Self.unconfigured(clientID ?? "(none given)"))
        }
        // A code is not spent unless Apple is known to be reachable: its grant could not be verified.
        guard try await clients.hasKeys() else {
            let detail = "Apple's signing keys cannot be fetched"
            return .trouble(Situation(.appleUnreachable, subject: clientID, detail: detail))
        }
        switch try await client.exchange(code: code, redirectURI: redirectURI) {
        case .granted(let grant):
            guard let token = grant.identityToken?.reveal() else { return .unusable(nil) }
            switch try await clients.verify(identityTokenFromApple: token, for: clientID) {
            case .success(let identity):
                return .granted(
                    Grant(
                        refreshToken: grant.refreshToken,
                        subject: identity.sub,
                        clientID: clientID,
                        teamID: client.identity.teamID
                    )
                )
            case .failure(let problem): return .unusable(problem)
            }
        case .codeRefused(let refusal): return .refused(refusal, clientID: clientID)
        case .refused(let refusal): return .doubtful(refusal, clientID: clientID)
        case .later(let delay): return .trouble(Self.situation(delay, clientID))
        case .ambiguous(let delay): return .answerLost(delay)
        }
    }

    /// Ends the authorisation for which a refresh token was issued; may be repeated.
    ///
    /// `teamID` is the team with whose key the token was obtained, or last found valid; nil if that is not known.
    func revoke(_ token: Secret<String>, clientID: String, teamID: String?) async throws -> Revocation {
        guard let clients, let client = clients[clientID] else { return .unasked(Self.unconfigured(clientID)) }
        let isFormer = clients.hasLeft(teamID, clientID)
        switch try await client.revoke(token) {
        case .revoked where isFormer, .grantUnknown where isFormer: return .ofFormerTeam
        // Apple says that a request is invalid also where client and token do not fit each other.
        case .misconfigured(let reason) where isFormer && reason.refusal.code == .invalidRequest: return .ofFormerTeam
        case .revoked: return .revoked
        // For a dead token, Apple answers that it is revoked. This answer means the wrong client id, or an incident at
        // Apple, and the grant may still be valid.
        case .grantUnknown:
            let detail = "Apple knows no such grant under this client id"
            return .unknownGrant(Situation(.appleMisconfigured, subject: clientID, detail: detail))
        case .misconfigured(let reason): return .trouble(Self.situation(reason))
        case .later(let delay):
            let situation = Self.situation(delay, clientID)
            return delay.cause == .breakerOpen ? .unasked(situation) : .trouble(situation)
        }
    }

    /// Whether any client id is configured.
    var isConfigured: Bool { clients?.clientIDs.isEmpty == false }

    /// The client id of whatever was recorded without one; nil if several are configured, or none.
    var onlyClientID: String? {
        guard let ids = clients?.clientIDs, ids.count == 1 else { return nil }
        return ids.first
    }

    private static func test(_ clientID: String, of clients: AppleClients?) async throws -> Situation? {
        guard let client = clients?[clientID] else { return unconfigured(clientID) }
        return switch try await client.selfTest() {
        case .good: nil
        case .misconfigured(let reason): situation(reason)
        case .later(let delay): situation(delay, clientID)
        }
    }

    private static func unconfigured(_ clientID: String) -> Situation {
        Situation(.appleMisconfigured, subject: clientID, detail: "this client id is not configured")
    }

    private static func situation(_ reason: AppleMisconfiguration) -> Situation {
        Situation(.appleMisconfigured, subject: reason.clientID, detail: "\(reason)")
    }

    private static func situation(_ delay: AppleDelay, _ clientID: String) -> Situation {
        // A pause by our circuit breaker sets no retry delay: whoever fixes the configuration need not wait for it.
        guard delay.cause != .breakerOpen else {
            return Situation(.appleMisconfigured, subject: clientID, detail: "\(delay)")
        }
        return Situation(.appleUnreachable, subject: clientID, detail: "\(delay)", retryAfter: delay.retryAfter)
    }
}
