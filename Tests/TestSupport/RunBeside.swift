/// Runs services that go on until they are cancelled concurrently with `body`, and cancels them afterwards.
///
/// - Parameters:
///   - runners: the services, each run in its own task.
///   - run: runs one of the services.
///   - body: cancelled when a runner ends first.
/// - Throws: Any error of `body`, and any error of a runner, before or after `body` ends.
package func runBeside<Runner: Sendable>(
    _ runners: [Runner],
    run: @escaping @Sendable (Runner) async throws -> Void,
    _ body: @escaping @Sendable () async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for runner in runners { group.addTask { try await run(runner) } }
        group.addTask { try await body() }
        try await group.next()
        group.cancelAll()
        try await group.waitForAll()
    }
}
