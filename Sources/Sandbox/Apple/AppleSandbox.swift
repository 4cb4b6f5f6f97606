import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The pretended Apple, from the side that only Apple, its portal and its devices have.
package final class AppleSandbox: Sendable {
    /// The team that the first clients belong to.
    package let teamID: String

    /// The key of that team, as a developer would have downloaded it.
    package let developerKey: DeveloperKey

    let state: Mutex<AppleState>
    private let clock: SandboxClock

    init(clients: [SandboxConfiguration.Client], clock: SandboxClock) throws {
        self.clock = clock
        self.teamID = RandomText.developerIdentifier()
        var state = try AppleState()
        for client in clients {
            state.clients[client.id] = AppleClient(
                id: client.id,
                kind: client.kind,
                group: client.group ?? client.id,
                teamID: teamID
            )
        }
        self.developerKey = Self.makeKey(teamID: teamID, groups: Set(state.clients.values.map(\.group)), in: &state)
        self.state = Mutex(state)
    }

    // MARK: The developer's portal

    /// Registers a client for a team; `group` is the primary App ID it is grouped under, itself by default.
    package func register(
        client: String,
        kind: AppleClient.Kind = .bundle,
        group: String? = nil,
        teamID: String? = nil
    ) {
        state.withLock { state in
            state.clients[client] = AppleClient(
                id: client,
                kind: kind,
                group: group ?? client,
                teamID: teamID ?? self.teamID
            )
        }
    }

    /// Makes a new key for a team, valid for the given primary App IDs, or for all that the team has now.
    package func makeKey(teamID: String? = nil, groups: Set<String>? = nil) -> DeveloperKey {
        state.withLock { state in
            let team = teamID ?? self.teamID
            let owned = state.clients.values
                .filter { $0.teamID == team || $0.transfer?.to == team || $0.transfer?.from == team }
            return Self.makeKey(teamID: team, groups: groups ?? Set(owned.map(\.group)), in: &state)
        }
    }

    /// Revokes a key in the portal: client secrets signed by it are refused from now on.
    package func revokeKey(_ keyID: String) {
        state.withLock { $0.keys[keyID] = nil }
    }

    /// Withdraws a client: its client secrets are refused from now on.
    package func withdraw(client: String) {
        state.withLock { $0.clients[client] = nil }
    }

    private static func makeKey(teamID: String, groups: Set<String>, in state: inout AppleState) -> DeveloperKey {
        let key = P256.Signing.PrivateKey()
        let id = RandomText.developerIdentifier()
        state.keys[id] = ClientSecret.Key(id: id, teamID: teamID, publicKey: key.publicKey, groups: groups)
        return DeveloperKey(teamID: teamID, keyID: id, privateKey: key.pemRepresentation)
    }

    // MARK: A person's device

    /// What a device hands to the app after a sign-in.
    package struct SignIn: Sendable, Codable {
        /// Lives five minutes and works once.
        package let authorizationCode: String
        package let identityToken: String
        package let sub: String
        /// The address the team gets to see, a relay address when the person hides theirs.
        package let email: String?
        /// Whether Apple showed the full sheet: only then does the app get the name.
        package let isFirst: Bool
    }

    /// Signs a person in to an app, as the sheet on a device or Apple's web page does.
    ///
    /// - Parameters:
    ///   - clientID: the bundle id or Services ID the person signs in to.
    ///   - sub: the identifier the team knows the person by; a new person is made for one that is not known, and for
    ///     nil.
    ///   - email: the true address of a new person, or with `hidesEmail` a relay address to use; made up when nil.
    ///   - hidesEmail: whether a new person hides the true address.
    ///   - nonce: the value the app sent, put into the tokens as it is.
    ///   - redirectURI: what the authorize request of a web sign-in carried; native apps carry none.
    /// - Returns: what the device hands to the app.
    /// - Throws: ``SandboxError`` when the client is not registered.
    package func signIn(
        clientID: String,
        sub: String? = nil,
        email: String? = nil,
        hidesEmail: Bool = false,
        nonce: String? = nil,
        redirectURI: String? = nil
    ) throws -> SignIn {
        let now = clock.now
        return try state.withLock { state in
            guard let client = state.clients[clientID] else { throw SandboxError("no client \(clientID)") }
            let team = client.teamID
            let person: Int
            if let sub, let known = state.person(subject: sub, teamID: team) {
                person = known
            } else {
                let address = hidesEmail ? nil : email ?? "\(RandomText.hex(length: 8))@example.com"
                person = state.addPerson(email: address, hidesEmail: hidesEmail)
                _ = state.subject(of: person, teamID: team, preferred: sub)
                if hidesEmail, let email { state.setRelayAddress(email, of: person, teamID: team) }
            }
            guard state.people[person]?.isDeleted == false else {
                throw SandboxError("this person's Apple Account was deleted")
            }
            let (authorization, isNew) = state.authorize(person: person, client: client, now: now)
            let code = "c" + RandomText.token(length: 32) + ".0." + RandomText.token(length: 22)
            state.codes[code] = AppleState.Code(
                person: person,
                clientID: clientID,
                teamID: team,
                authorization: authorization.id,
                redirectURI: redirectURI,
                nonce: nonce,
                issuedAt: now,
                isFirst: isNew
            )
            let token = try state.identityToken(
                person: person,
                client: client,
                teamID: team,
                now: now,
                nonce: nonce,
                code: code,
                isFirst: isNew
            )
            return SignIn(
                authorizationCode: code,
                identityToken: token,
                sub: state.subject(of: person, teamID: team),
                email: state.people[person]?.visibleEmail(for: team),
                isFirst: isNew
            )
        }
    }

    /// Signs a new person in and returns what an app's server holds once it exchanged the code, without the calls.
    ///
    /// - Throws: ``SandboxError`` when the client is not registered.
    package func grant(clientID: String) throws -> (sub: String, refreshToken: String) {
        let now = clock.now
        return try state.withLock { state in
            guard let client = state.clients[clientID] else { throw SandboxError("no client \(clientID)") }
            let person = state.addPerson(email: nil, hidesEmail: true)
            let (authorization, _) = state.authorize(person: person, client: client, now: now)
            let token = state.addRefreshToken(
                person: person,
                clientID: clientID,
                teamID: client.teamID,
                authorization: authorization.id,
                now: now
            )
            return (state.subject(of: person, teamID: client.teamID), token)
        }
    }

    /// Signs in and returns the authorization code alone.
    package func issueCode(
        clientID: String,
        sub: String? = nil,
        email: String? = nil,
        hidesEmail: Bool = false,
        nonce: String? = nil,
        redirectURI: String? = nil
    ) throws -> String {
        try signIn(
            clientID: clientID,
            sub: sub,
            email: email,
            hidesEmail: hidesEmail,
            nonce: nonce,
            redirectURI: redirectURI
        ).authorizationCode
    }

    /// Ends every access token, those for a transfer among them, as their hour does.
    package func endAccessTokens() {
        state.withLock { $0.accessTokens = [:] }
    }

    // MARK: Consent

    /// What holds between a person and an app.
    package enum Consent: Sendable, Equatable {
        /// The person never signed in to the app or its group.
        case never
        case given(since: Date)
        case ended(at: Date)
    }

    /// The consent of a person to an app, by the sub its team knows.
    package func consent(sub: String, clientID: String) -> Consent {
        state.withLock { state in
            guard
                let client = state.clients[clientID],
                let person = state.person(subject: sub, teamID: client.teamID),
                let latest = state.latestAuthorization(of: person, teamID: client.teamID, group: client.group)
            else { return .never }
            return latest.endedAt.map { .ended(at: $0) } ?? .given(since: latest.since)
        }
    }

    /// Every code and token that was handed out: what must be found nowhere in clear.
    package var secrets: [String] {
        state.withLock { Array($0.codes.keys) + Array($0.refreshTokens.keys) + Array($0.accessTokens.keys) }
    }

    /// How many consents are given at present.
    package var liveConsents: Int {
        state.withLock { state in state.authorizations.count { $0.endedAt == nil } }
    }

    /// The person stops using their Apple Account with the app, in the settings of a device.
    ///
    /// - Returns: what Apple tells the app's server, for ``NotificationSender/post(_:to:copies:forgery:)``; nil when
    ///   there was no consent to end.
    @discardableResult
    package func stopUsing(sub: String, clientID: String) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            guard
                let live = state.liveAuthorization(of: person, teamID: client.teamID, group: client.group),
                state.end(live.id, now: now)
            else { return nil }
            return AppleNotification(.consentRevoked, sub: sub, audience: client.group, eventTime: now)
        }
    }

    /// The person changes their password: refresh tokens die, the consent stays, and nobody is told.
    package func changePassword(sub: String, clientID: String) {
        _ = withPerson(sub, clientID) { state, _, person in
            for (text, token) in state.refreshTokens where token.person == person {
                state.refreshTokens[text]?.isDead = true
            }
            return nil
        }
    }

    /// The person deletes their Apple Account: every consent ends.
    ///
    /// - Returns: what Apple tells the app's server, in the given spelling; nil for a person who is not known.
    @discardableResult
    package func deleteAccount(
        sub: String,
        clientID: String,
        spelling: AppleNotification.Event = .accountDeleted
    ) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            state.people[person]?.isDeleted = true
            for authorization in state.authorizations where authorization.person == person {
                state.end(authorization.id, now: now)
            }
            return AppleNotification(spelling, sub: sub, audience: client.group, eventTime: now)
        }
    }

    /// The person switches the forwarding of their relay address on or off.
    ///
    /// - Returns: what Apple tells the app's server; nil for a person who is not known or has no relay address.
    @discardableResult
    package func setForwarding(_ isOn: Bool, sub: String, clientID: String) -> AppleNotification? {
        let now = clock.now
        return withPerson(sub, clientID) { state, client, person in
            guard
                state.people[person]?.hidesEmail == true,
                let address = state.people[person]?.relayAddresses[client.teamID]
            else { return nil }
            return AppleNotification(
                isOn ? .emailEnabled : .emailDisabled,
                sub: sub,
                audience: client.group,
                eventTime: now,
                email: address,
                isPrivateEmail: true
            )
        }
    }

    private func withPerson(
        _ sub: String,
        _ clientID: String,
        _ body: (inout AppleState, AppleClient, Int) -> AppleNotification?
    ) -> AppleNotification? {
        state.withLock { state in
            guard
                let client = state.clients[clientID],
                let person = state.person(subject: sub, teamID: client.teamID)
            else { return nil }
            return body(&state, client, person)
        }
    }

    // MARK: Keys and forms

    /// The names of the keys that `/auth/keys` gives out at present.
    package var publishedKeyIDs: [String] {
        state.withLock { $0.keyRing.published.map(\.id) }
    }

    /// Publishes a new signing key and withdraws the oldest, or replaces them all.
    package func rotateKeys(all: Bool = false) throws {
        try state.withLock { state in
            if all { try state.keyRing.replaceAll() } else { try state.keyRing.rotate() }
        }
    }

    /// Whether tokens carry `"true"` (as captured tokens do) or `true`.
    package func writeBooleansAsText(_ asText: Bool) {
        state.withLock { $0.writesBooleansAsText = asText }
    }

    // MARK: Transfer to another team

    /// Starts the transfer of a client to another team; both teams may act for it from now on.
    package func startTransfer(of clientID: String, to teamID: String) {
        state.withLock { state in
            guard let client = state.clients[clientID] else { return }
            state.clients[clientID]?.transfer = AppleTransfer(from: client.teamID, to: teamID)
        }
    }

    /// The recipient accepts: the client is theirs and sixty days begin.
    package func acceptTransfer(of clientID: String) {
        let now = clock.now
        state.withLock { state in
            guard let transfer = state.clients[clientID]?.transfer else { return }
            state.clients[clientID]?.transfer?.acceptedAt = now.timeIntervalSince1970
            state.clients[clientID]?.teamID = transfer.to
        }
    }
}

extension AppleSandbox {
    /// The notification that follows the end of a consent, whoever ended it; told to the primary App ID.
    func consentRevoked(_ ended: AppleState.Ended, at time: Date) -> AppleNotification? {
        state.withLock { state in
            state.people[ended.person]?.subjects[ended.teamID].map { subject in
                AppleNotification(.consentRevoked, sub: subject, audience: ended.group, eventTime: time)
            }
        }
    }
}
