import JobQueue

@testable import AccountLifecycle

extension CredentialStage {
    /// Runs the enqueued jobs as a worker does.
    func work(_ services: CredentialServices) async throws {
        var registry = JobRegistry()
        try CredentialJobs.register(in: &registry, services: services)
        try await registry.work(in: pool)
    }
}
