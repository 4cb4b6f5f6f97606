import JobQueue
import Logging
import Postgres
import Terminal

extension CommandContext {
    /// Between two looks: under load the queues notify many times a second, and a look may read a whole table.
    private static var pauseBetweenLooks: Duration { .milliseconds(250) }

    /// Follows something until it ends, over lost connections.
    ///
    /// It is looked at when the database notifies of work, at most four times a second, and once a second besides,
    /// which alone is the guarantee: behind a transaction pooler nothing notifies.
    func follow<Followed: Watch & Sendable>(_ make: @Sendable () -> Followed) async throws -> ExitStatus {
        let settings = try settingsForDatabase()
        var logger = logger(settings)
        // That the database is away is told by the looks, in words: the listener is of interest to who asks for
        // everything.
        if logger.logLevel > .debug { logger.logLevel = .error }
        let listener = JobListener(connectionConfiguration(settings), logger: logger)
        // It tries again itself, and says at once that the database is away.
        return try await withDatabase(retriesConnecting: .never) { pool in
            let watch = make()
            return try await withThrowingTaskGroup(of: ExitStatus?.self) { group in
                let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                look.yield()
                group.addTask {
                    await listener.run(for: JobQueue()) { _ in look.yield() }
                    return nil
                }
                group.addTask {
                    while (try? await Task.sleep(for: .seconds(1))) != nil {
                        // Beside the looks: one may wait for the database for half a minute.
                        try output.sink.checkReader()
                        look.yield()
                    }
                    look.finish()
                    return nil
                }
                group.addTask { try await self.look(watch, whenever: looks, in: pool) }
                defer { group.cancelAll() }
                while let ended = try await group.next() {
                    if let ended { return ended }
                }
                throw CancellationError()
            }
        }
    }

    /// Looks whenever it is told to, until nothing more can come.
    ///
    /// - Throws: What a look throws for other reasons than that the database is away; `CancellationError` when nobody
    ///   tells any more.
    private func look(
        _ followed: some Watch & Sendable,
        whenever looks: AsyncStream<Void>,
        in pool: Pool
    ) async throws -> ExitStatus {
        var watch = followed
        var isAway = false
        for await _ in looks {
            do {
                let (next, end) = try await pool.withConnection { [watch] connection in
                    var watch = watch
                    let end = try watch.look(on: connection)
                    return (watch, end)
                }
                watch = next
                try watch.flush()
                if isAway { messages.note("the database is back") }
                isAway = false
                if let end { return end }
            } catch let error as PostgresError where error.isTransient || !error.connectionUsable {
                if !isAway { messages.warning("the database is away: \(error)") }
                isAway = true
            }
            try await Task.sleep(for: Self.pauseBetweenLooks, clock: .continuous)
        }
        throw CancellationError()
    }
}
