@testable import AccountLifecycle

extension NotificationIntake {
    /// Takes notifications in with the services of a stage.
    init(_ services: CredentialServices) {
        self.init(pool: services.pool, apple: services.apple, logger: services.logger)
    }
}
