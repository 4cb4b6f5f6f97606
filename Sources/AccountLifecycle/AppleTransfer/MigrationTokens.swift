import Sealing
import SignInWithApple

/// The migration token of a run, renewed before it ends.
struct MigrationTokens: Sendable {
    /// No token, and why.
    struct Refused: Error {
        let reason: String
    }

    /// A token.
    struct Token: Sendable {
        let secret: Secret<String>
        /// When it was asked for.
        let begun: ContinuousClock.Instant
        let lifetime: Duration

        /// Whether it lives for a while yet: a tenth of its time is left for clocks and slow answers.
        var isFresh: Bool { ContinuousClock.now - begun < lifetime * 0.9 }
    }

    private let client: AppleClient
    private var held: Token?

    init(_ client: AppleClient) {
        self.client = client
    }

    /// A token that lives.
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

    /// Has the next call get a new one.
    mutating func drop() { held = nil }
}
