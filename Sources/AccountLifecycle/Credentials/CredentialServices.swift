package import Logging
package import Postgres
package import Sealing
package import SignInWithApple

/// The services that handlers of credentials use.
package struct CredentialServices: Sendable {
    /// The worker's connections.
    let pool: Pool
    /// The configured clients.
    let apple: AppleClients
    /// The keys that seal refresh tokens.
    let keys: KeyRing
    /// The reactions to events.
    let policy: CredentialPolicy
    /// Receives log messages, without personal data.
    let logger: Logger

    /// Puts the services together.
    package init(
        pool: Pool,
        apple: AppleClients,
        keys: KeyRing,
        policy: CredentialPolicy = CredentialPolicy(),
        logger: Logger
    ) {
        self.pool = pool
        self.apple = apple
        self.keys = keys
        self.policy = policy
        self.logger = logger
    }
}
