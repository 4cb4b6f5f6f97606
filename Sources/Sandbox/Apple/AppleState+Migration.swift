#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The answer of `/auth/usermigrationinfo`, with the fields for either the sending or the recipient team.
struct MigrationAnswer: Encodable {
    var transferSub: String?
    var sub: String?
    var email: String?
    var isPrivateEmail: Bool?

    enum CodingKeys: String, CodingKey {
        case sub, email
        case transferSub = "transfer_sub"
        case isPrivateEmail = "is_private_email"
    }
}

extension AppleState {
    /// `POST /auth/usermigrationinfo`, for both teams.
    mutating func migrate(_ form: FormBody, bearer: String?, now: Date) throws(AppleError) -> MigrationAnswer {
        let caller = try authenticate(form, now: now)
        guard
            let bearer, let token = accessTokens[bearer], token.clientID == caller.client.id,
            token.teamID == caller.teamID, now.timeIntervalSince(token.issuedAt) <= AppleConstants.accessTokenLife
        else { throw .request("the access token is missing, dead or of another client") }
        guard let transfer = caller.client.transfer else { throw .request("the client is not being transferred") }
        guard isOpen(transfer, now: now) else { throw .request("the sixty days are over") }
        if let subject = form["sub"] {
            return try generate(subject: subject, form: form, caller: caller, transfer: transfer)
        }
        guard let transferSubject = form["transfer_sub"] else { throw .request("sub or transfer_sub is missing") }
        return try exchange(transferSubject, caller: caller, transfer: transfer)
    }

    private mutating func generate(
        subject: String,
        form: FormBody,
        caller: AuthenticatedClient,
        transfer: AppleTransfer
    ) throws(AppleError) -> MigrationAnswer {
        guard caller.teamID == transfer.from else { throw .request("only the sending team generates") }
        guard form["target"] == transfer.to else { throw .request("target is not the recipient team") }
        guard
            let person = person(subject: subject, teamID: transfer.from),
            liveAuthorization(of: person, teamID: transfer.from, group: caller.client.group) != nil
        else { throw .request("sub is unknown or the user has revoked authorization") }
        return MigrationAnswer(transferSub: transferSubject(of: person, to: transfer.to))
    }

    private mutating func exchange(
        _ transferSubject: String,
        caller: AuthenticatedClient,
        transfer: AppleTransfer
    ) throws(AppleError) -> MigrationAnswer {
        guard caller.teamID == transfer.to else { throw .request("only the recipient team exchanges") }
        guard transfer.acceptedAt != nil else { throw .request("the transfer was not accepted yet") }
        guard let person = peopleByTransferSubject[transfer.to + "/" + transferSubject] else {
            throw .request("an unknown transfer_sub")
        }
        let subject = subject(of: person, teamID: transfer.to)
        let hides = people[person]?.hidesEmail == true
        return MigrationAnswer(
            sub: subject,
            email: hides ? people[person]?.relayAddresses[transfer.to] : nil,
            isPrivateEmail: hides ? true : nil
        )
    }

    /// The migration identifier of a person for a recipient team, the same for several apps transferred to that team.
    private mutating func transferSubject(of person: Int, to teamID: String) -> String {
        let place = "\(person)/\(teamID)"
        if let known = transferSubjects[place] { return known }
        let made = RandomText.subject()
        transferSubjects[place] = made
        peopleByTransferSubject[teamID + "/" + made] = person
        return made
    }

    /// The claim that identity tokens carry while the window is open.
    mutating func transferClaim(person: Int, client: AppleClient, now: Date) -> String? {
        guard let transfer = client.transfer, transfer.acceptedAt != nil, isOpen(transfer, now: now) else { return nil }
        return transferSubject(of: person, to: transfer.to)
    }
}
