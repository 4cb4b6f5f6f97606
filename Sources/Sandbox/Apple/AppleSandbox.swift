import Synchronization

/// The pretended Apple, from the side that only Apple, its portal and its devices have.
package final class AppleSandbox: Sendable {
    /// The team that the first clients belong to.
    package let teamID: String

    /// The key of that team, as a developer would have downloaded it.
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

    /// Every code and token that was handed out: what must be found nowhere in clear.
    package var secrets: [String] {
        state.withLock { Array($0.codes.keys) + Array($0.refreshTokens.keys) + Array($0.accessTokens.keys) }
    }

    /// Ends every access token, those for a transfer among them, as their hour does.
    package func endAccessTokens() {
        state.withLock { $0.accessTokens = [:] }
    }

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
}
