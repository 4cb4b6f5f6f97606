package import Logging
package import Postgres

extension Listener {
    /// Listens for the duration of a closure, which receives the events as a sequence.
    ///
    /// The sequence ends when notifications are unavailable.
    package static func with<Result: Sendable>(
        _ configuration: ConnectionConfiguration,
        channels: [String],
        logger: Logger,
        _ body: @Sendable (AsyncStream<Event>) async throws -> Result
    ) async throws -> Result {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await run(configuration, channels: channels, logger: logger) { continuation.yield($0) }
                continuation.finish()
            }
            defer { group.cancelAll() }
            return try await body(events)
        }
    }
}
