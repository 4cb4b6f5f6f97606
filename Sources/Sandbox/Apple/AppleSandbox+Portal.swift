import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The developer portal: clients, keys, and transfers to another team.
extension AppleSandbox {
    /// Registers a client for a team; `group` is the primary App ID it is grouped under, by default itself.
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

    /// Creates a key for a team, valid for the given primary App IDs, or for all that the team has now.
    package func makeKey(teamID: String? = nil, groups: Set<String>? = nil) -> DeveloperKey {
        state.withLock { state in
            let team = teamID ?? self.teamID
            let owned = state.clients.values
                .filter { $0.teamID == team || $0.transfer?.to == team || $0.transfer?.from == team }
            return state.addKey(teamID: team, groups: groups ?? Set(owned.map(\.group)))
        }
    }

    /// Revokes a key in the portal: client secrets signed with it are refused from now on.
    package func revokeKey(_ keyID: String) {
        state.withLock { $0.keys[keyID] = nil }
    }

    /// Withdraws a client: its client secrets are refused from now on.
    func withdraw(client: String) {
        state.withLock { $0.clients[client] = nil }
    }

    /// Starts the transfer of a client to another team; both teams may act for it from now on.
    ///
    /// - Returns: whether there is such a client.
    @discardableResult
    package func startTransfer(of clientID: String, to teamID: String) -> Bool {
        state.withLock { state in
            guard let client = state.clients[clientID] else { return false }
            state.clients[clientID]?.transfer = AppleTransfer(from: client.teamID, to: teamID)
            return true
        }
    }

    /// The recipient accepts the transfer: it owns the client, and the sixty days begin.
    ///
    /// - Returns: whether there is such a transfer.
    @discardableResult
    package func acceptTransfer(of clientID: String) -> Bool {
        let now = clock.now
        return state.withLock { state in
            guard let transfer = state.clients[clientID]?.transfer else { return false }
            state.clients[clientID]?.transfer?.acceptedAt = now.timeIntervalSince1970
            state.clients[clientID]?.teamID = transfer.to
            return true
        }
    }
}
