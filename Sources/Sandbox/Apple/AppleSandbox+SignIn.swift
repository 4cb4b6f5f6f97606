import Synchronization

/// Sign-in on a person's device.
extension AppleSandbox {
    /// The result that a device hands to the app after a sign-in.
    package struct SignIn: Sendable, Codable {
        /// The authorization code, which lives five minutes and works once.
        package let authorizationCode: String
        package let identityToken: String
        package let sub: String
        /// The address visible to the team, which is a relay address if the person hides theirs.
        package let email: String?
        /// Whether Apple showed the full sheet, the only case in which the app gets the name.
        package let isFirst: Bool
    }

    /// Signs a person in to an app, like the sheet on a device or Apple's web page.
    ///
    /// - Parameters:
    ///   - clientID: the bundle id or Services ID that the person signs in to.
    ///   - sub: the identifier by which the team knows the person; an unknown one, or nil, creates a new person.
    ///   - email: the true address of a new person, or with `hidesEmail` the relay address to use; generated if nil.
    ///   - hidesEmail: whether a new person hides the true address.
    ///   - nonce: the value from the app, copied into the tokens unchanged.
    ///   - redirectURI: the redirect URI of a web sign-in's authorize request; nil for native apps.
    /// - Returns: the result for the app.
    /// - Throws: ``SandboxError`` if the client is not registered.
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

    /// Signs a new person in and returns what an app's server holds after exchanging the code, without any HTTP calls.
    ///
    /// - Throws: ``SandboxError`` if the client is not registered.
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

    /// Signs in and returns only the authorization code.
    package func issueCode(clientID: String, sub: String? = nil, redirectURI: String? = nil) throws -> String {
        try signIn(clientID: clientID, sub: sub, redirectURI: redirectURI).authorizationCode
    }
}
