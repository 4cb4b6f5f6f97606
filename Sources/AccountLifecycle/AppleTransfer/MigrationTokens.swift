import Sealing
import SignInWithApple

/// The migration token of a run, renewed before it expires.
struct MigrationTokens: Sendable {
    /// Why there is no token.
    struct Refused: Error {
        let reason: String
    }

    /// A token.
    struct Token: Sendable {
        let secret: Secret<String>
        /// When it was requested.
        let begun: ContinuousClock.Instant
        let lifetime: Duration

        /// Whether it stays valid for a while: a tenth of its lifetime is reserved for clock skew and slow answers.
        var isFresh: Bool { ContinuousClock.now - begun < lifetime * 0.9 }
    }

    private let client: AppleClient
    private var held: Token?

    init(_ client: AppleClient) {
        self.client = client
    }

    /// A valid token, new if the one held is about to expire.
    ///
    /// - Throws: ``Refused``; `CancellationError`.
    mutating func token() async throws -> Token {
        if let held, held.isFresh { return held }
        let begun = ContinuousClock.now
        switch try await client.migrationToken() {
        case .granted(let secret, let lifetime):
            let token = Token(secret: secret, begun: begun, lifetime: lifetime)
            held = token
            return token
        case .misconfigured(let reason): throw Refused(reason: "\(reason)")
        case .later(let delay): throw Refused(reason: "\(delay)")
        }
    }

    /// Discards the token, so that the next call requests a new one.
    mutating func drop() { held = nil }
}
