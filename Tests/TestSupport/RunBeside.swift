/// Runs what goes on until it is cancelled beside `body`, and cancels it afterwards.
///
/// - Parameters:
///   - runners: what is run, each in a task of its own.
///   - run: runs one of them.
///   - body: ends when one of them ends before it does.
/// - Throws: What `body` throws, and what a runner ends with, before `body` or after it.
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
