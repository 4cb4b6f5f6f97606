@testable import AccountLifecycle

extension NotificationIntake {
    /// Creates an intake that uses the services of a stage.
    init(_ services: CredentialServices) {
        self.init(pool: services.pool, apple: services.apple, logger: services.logger)
    }
}
