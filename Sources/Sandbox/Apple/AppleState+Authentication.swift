import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AppleState {
    /// An authenticated client, acting for one team; during a transfer, both teams may act for it.
    struct AuthenticatedClient {
        let client: AppleClient
        let teamID: String
    }

    /// Creates a key for a team, valid for the given primary App IDs.
    mutating func addKey(teamID: String, groups: Set<String>) -> DeveloperKey {
        let key = P256.Signing.PrivateKey()
        let id = RandomText.developerIdentifier()
        keys[id] = ClientSecret.Key(id: id, teamID: teamID, publicKey: key.publicKey, groups: groups)
        return DeveloperKey(teamID: teamID, keyID: id, privateKey: key.pemRepresentation)
    }

    /// Authenticates the client before anything else in the request is checked, as Apple does.
    func authenticate(_ form: FormBody, now: Date) throws(AppleError) -> AuthenticatedClient {
        guard let clientID = form["client_id"] else { throw .client("client_id is missing") }
        guard let secret = form["client_secret"] else { throw .client("client_secret is missing") }
        guard let client = clients[clientID] else { throw .client("unknown client_id") }
        do {
            let key = try ClientSecret.check(secret, client: client, keys: keys, now: now)
            guard acceptsTeam(key.teamID, for: client, now: now) else {
                throw AppleError.client("the team does not own the client")
            }
            return AuthenticatedClient(client: client, teamID: key.teamID)
        } catch let refusal as ClientSecret.Refusal {
            throw .client(refusal.description)
        } catch let error as AppleError {
            throw error
        } catch {
            throw .client("the client secret could not be checked")
        }
    }

    /// Whether a team may act for a client: its owner, and the other side of a transfer while the window is open.
    private func acceptsTeam(_ teamID: String, for client: AppleClient, now: Date) -> Bool {
        if teamID == client.teamID { return true }
        guard let transfer = client.transfer, transfer.from == teamID || transfer.to == teamID else { return false }
        return isOpen(transfer, now: now)
    }

    func isOpen(_ transfer: AppleTransfer, now: Date) -> Bool {
        guard let acceptedAt = transfer.acceptedAt else { return true }
        return now.timeIntervalSince1970 - acceptedAt <= AppleConstants.migrationWindow
    }
}
