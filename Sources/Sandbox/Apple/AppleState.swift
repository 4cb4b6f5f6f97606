import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The state of the simulated Apple as a value: every answer is a function of the state, the time and the request.
///
/// A fault that fakes a success works on a copy and discards it.
struct AppleState: Sendable {
    /// A person's consent to a primary App ID and its group.
    struct Authorization: Sendable {
        let id: Int
        let person: Int
        let teamID: String
        let group: String
        let since: Date
        var endedAt: Date?
    }

    struct Code: Sendable {
        let person: Int
        let clientID: String
        let teamID: String
        let authorization: Int
        let redirectURI: String?
        let nonce: String?
        let issuedAt: Date
        let isFirst: Bool
        var isUsed = false
    }

    struct RefreshToken: Sendable {
        let person: Int
        let clientID: String
        let teamID: String
        let authorization: Int
        let issuedAt: Date
        var isDead = false
    }

    struct AccessToken: Sendable {
        /// Nil for the client's own token of the migration grant.
        let person: Int?
        let clientID: String
        let teamID: String
        let authorization: Int?
        let issuedAt: Date
    }

    var clients: [String: AppleClient] = [:]
    var keys: [String: ClientSecret.Key] = [:]
    var people: [Int: ApplePerson] = [:]
    var authorizations: [Authorization] = []
    var codes: [String: Code] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var accessTokens: [String: AccessToken] = [:]
    /// The migration identifier by person and recipient team: `person/team`.
    var transferSubjects: [String: String] = [:]
    /// The person by recipient team and migration identifier: `team/transfer_sub`.
    var peopleByTransferSubject: [String: Int] = [:]
    var keyRing: AppleKeyRing
    /// Whether booleans are written as strings, as in every captured token.
    var writesBooleansAsText = true

    /// The person by team and sub: `team/sub`.
    private var peopleBySubject: [String: Int] = [:]
    /// The index of the live authorization by team, group and person: `team/group/person`.
    private var liveAuthorizations: [String: Int] = [:]

    init() throws {
        keyRing = try AppleKeyRing()
    }
}

// MARK: - People

extension AppleState {
    mutating func addPerson(email: String?, hidesEmail: Bool) -> Int {
        let id = people.count + 1
        people[id] = ApplePerson(id: id, email: email, hidesEmail: hidesEmail)
        return id
    }

    func person(subject: String, teamID: String) -> Int? {
        peopleBySubject[teamID + "/" + subject]
    }

    /// The `sub` by which a team knows a person, generated on first contact.
    mutating func subject(of person: Int, teamID: String, preferred: String? = nil) -> String {
        if let known = people[person]?.subjects[teamID] { return known }
        let subject = preferred ?? RandomText.subject()
        people[person]?.subjects[teamID] = subject
        people[person]?.relayAddresses[teamID] =
            RandomText.hex(length: 10) + "@privaterelay.appleid.com"
        peopleBySubject[teamID + "/" + subject] = person
        return subject
    }

    /// Assigns a known relay address to a person for a team, for identities that existed before the sandbox.
    mutating func setRelayAddress(_ address: String, of person: Int, teamID: String) {
        people[person]?.relayAddresses[teamID] = address
    }
}

// MARK: - Consent

extension AppleState {
    func liveAuthorization(of person: Int, teamID: String, group: String) -> Authorization? {
        liveAuthorizations["\(teamID)/\(group)/\(person)"].map { authorizations[$0] }
    }

    func latestAuthorization(of person: Int, teamID: String, group: String) -> Authorization? {
        authorizations.last { $0.person == person && $0.teamID == teamID && $0.group == group }
    }

    /// The live authorization, created if there is none; the flag says whether it is new.
    mutating func authorize(person: Int, client: AppleClient, now: Date) -> (Authorization, isNew: Bool) {
        if let live = liveAuthorization(of: person, teamID: client.teamID, group: client.group) { return (live, false) }
        let authorization = Authorization(
            id: authorizations.count,
            person: person,
            teamID: client.teamID,
            group: client.group,
            since: now
        )
        authorizations.append(authorization)
        liveAuthorizations["\(client.teamID)/\(client.group)/\(person)"] = authorization.id
        return (authorization, true)
    }

    /// Ends an authorization, together with every code and token that depends on it.
    ///
    /// - Returns: whether it was live.
    @discardableResult
    mutating func end(_ authorization: Int, now: Date) -> Bool {
        guard authorizations[authorization].endedAt == nil else { return false }
        authorizations[authorization].endedAt = now
        let ended = authorizations[authorization]
        liveAuthorizations["\(ended.teamID)/\(ended.group)/\(ended.person)"] = nil
        return true
    }

    func isLive(_ token: RefreshToken) -> Bool {
        !token.isDead && authorizations[token.authorization].endedAt == nil
    }
}
