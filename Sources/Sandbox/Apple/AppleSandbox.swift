import Synchronization

/// The simulated Apple, as seen by Apple itself, its portal and its devices.
package final class AppleSandbox: Sendable {
    /// The team of the first clients.
    package let teamID: String

    /// That team's key, as a developer would download it.
    package let developerKey: DeveloperKey

    let state: Mutex<AppleState>
    let clock: SandboxClock

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
        self.developerKey = state.addKey(teamID: teamID, groups: Set(state.clients.values.map(\.group)))
        self.state = Mutex(state)
    }

    /// Every code and token that was issued, none of which may appear anywhere in clear text.
    package var secrets: [String] {
        state.withLock { Array($0.codes.keys) + Array($0.refreshTokens.keys) + Array($0.accessTokens.keys) }
    }

    /// Expires every access token, including those for a transfer, as happens after an hour.
    package func endAccessTokens() {
        state.withLock { $0.accessTokens = [:] }
    }

    /// The ids of the keys that `/auth/keys` currently publishes.
    package var publishedKeyIDs: [String] {
        state.withLock { $0.keyRing.published.map(\.id) }
    }

    /// Publishes a new signing key and withdraws the oldest, or replaces them all.
    package func rotateKeys(all: Bool = false) throws {
        try state.withLock { state in
            if all { try state.keyRing.replaceAll() } else { try state.keyRing.rotate() }
        }
    }

    /// Sets whether tokens carry `"true"`, as captured tokens do, or `true`.
    package func writeBooleansAsText(_ asText: Bool) {
        state.withLock { $0.writesBooleansAsText = asText }
    }
}
