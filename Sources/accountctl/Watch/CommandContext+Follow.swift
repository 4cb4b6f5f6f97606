import JobQueue
import Logging
import Postgres
import Terminal

extension CommandContext {
    /// The pause after a look that took so long.
    ///
    /// Under load the queues notify many times a second, and a look may read a whole table: after one that takes long,
    /// the server has as much time for everything else.
    static func pause(afterLookOf took: Duration) -> Duration {
        max(.milliseconds(250), min(took, .seconds(5)))
    }

    /// Follows something until it ends, and reconnects if the connection is lost.
    ///
    /// It looks when the database notifies of work, at most four times a second, and also once a second; less often if
    /// a look takes long. Only the looks by time are guaranteed: a transaction pooler delivers no notifications.
    func follow<Followed: Watch & Sendable>(_ make: @Sendable () -> Followed) async throws -> ExitStatus {
        let settings = try settingsForDatabase()
        var logger = logger(settings)
        // The looks report a lost database to people; the listener's own messages are shown only at the level debug.
        if logger.logLevel > .debug { logger.logLevel = .error }
        let listener = JobListener(connectionConfiguration(settings), logger: logger)
        // The loop below retries by itself, and reports a lost database at once.
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
                        // In a task of its own, since a look may wait for the database for half a minute.
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

    /// Looks at each element of `looks`, until nothing more can come.
    ///
    /// - Throws: Errors of a look other than an unreachable database; `CancellationError` when `looks` ends.
    private func look(
        _ followed: some Watch & Sendable,
        whenever looks: AsyncStream<Void>,
        in pool: Pool
    ) async throws -> ExitStatus {
        var watch = followed
        var isAway = false
        for await _ in looks {
            let start = ContinuousClock.now
            var took = Duration.zero
            do {
                let (next, looked, length) = try await pool.withConnection { [watch] connection in
                    var watch = watch
                    let began = ContinuousClock.now
                    let looked = Result { try watch.look(on: connection) }
                    return (watch, looked, ContinuousClock.now - began)
                }
                // Also after an error: the next look would show again what this one has shown.
                watch = next
                let end = try looked.get()
                took = length
                try watch.flush()
                if isAway { messages.note("the database can be reached again") }
                isAway = false
                if let end { return end }
            } catch let error as PostgresError where error.isTransient || !error.connectionUsable {
                if !isAway { messages.warning("the database cannot be reached: \(error)") }
                isAway = true
                // A look that the server ended, such as at its time limit, took its time, too; a lost server is to be
                // found again soon.
                if error.connectionUsable, error.code == .server || error.code == .deadlineExceeded {
                    took = ContinuousClock.now - start
                }
            }
            try await Task.sleep(for: Self.pause(afterLookOf: took), clock: .continuous)
        }
        throw CancellationError()
    }
}
