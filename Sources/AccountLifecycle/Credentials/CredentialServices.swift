package import Logging
package import Postgres
package import Sealing
package import SignInWithApple

/// What following credentials through their life needs.
package struct CredentialServices: Sendable {
    /// The worker's connections.
    let pool: Pool
    /// The configured clients.
    let apple: AppleClients
    /// What refresh tokens are sealed with.
    let keys: KeyRing
    /// What is done about events.
    let policy: CredentialPolicy
    /// Gets what happens, without personal data.
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
