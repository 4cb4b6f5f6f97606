/// Runs listeners for tests.
enum ListenerStage {
    /// Gives `body` the port that a listener reports when it starts, and stops the listener afterwards.
    static func withPort(
        _ service: @escaping @Sendable (@escaping @Sendable (Int) -> Void) async throws -> Void,
        _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, started) = AsyncStream<Int>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service { started.yield($0) } }
            for await port in ports {
                try await body(port)
                break
            }
            group.cancelAll()
        }
    }
}
