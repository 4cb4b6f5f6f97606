package import JobQueue

/// The life of accounts: what a worker needs to know to run all of it.
package enum AccountLifecycle {
    /// Registers the handlers and periodic jobs of deletions and of Apple credentials.
    package static func registerJobs(in registry: inout JobRegistry, services: DeletionServices) throws {
        try DeletionJobs.register(in: &registry, services: services)
    }
}
