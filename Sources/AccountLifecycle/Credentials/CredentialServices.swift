package import Logging
package import Postgres
package import Sealing
package import SignInWithApple

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What following credentials through their life needs.
package struct CredentialServices: Sendable {
    /// Switches the forwarding of a relay address, in the transaction of the event; false when the event is older than
    /// what is known about the address.
    package typealias Forwarding =
        @Sendable (_ user: UUID, _ address: String, _ isOn: Bool, _ at: Date, _ connection: isolated Connection) throws
        -> Bool

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
    /// Where relay addresses are kept; nil where they are not.
    let forwarding: Forwarding?

    /// Puts the services together.
    package init(
        pool: Pool,
        apple: AppleClients,
        keys: KeyRing,
        policy: CredentialPolicy = CredentialPolicy(),
        logger: Logger,
        forwarding: Forwarding? = nil
    ) {
        self.pool = pool
        self.apple = apple
        self.keys = keys
        self.policy = policy
        self.logger = logger
        self.forwarding = forwarding
    }
}
