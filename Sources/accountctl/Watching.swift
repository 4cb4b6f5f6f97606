import JobQueue
import Postgres
import Terminal

/// Something that is followed: looked at again and again, told when it changes.
protocol Watch {
    /// Looks, tells what changed since the last look.
    ///
    /// - Returns: how the command ends when nothing more can come; nil to go on.
    mutating func look(on connection: isolated Connection) throws -> ExitStatus?

    /// Shows what was told so far.
    mutating func flush() throws
}

extension CommandContext {
    /// Follows something until it ends, over lost connections.
    ///
    /// It is looked at when the database notifies of work, and once a second besides, which alone is the guarantee: behind a transaction
    /// pooler nothing notifies.
    func follow<Followed: Watch & Sendable>(_ make: @Sendable () -> Followed) async throws -> ExitStatus {
        let settings = try settingsForDatabase()
        let listener = JobListener(connectionConfiguration(settings), logger: logger(settings))
        return try await withDatabase { pool in
            var watch = make()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                look.yield()
                group.addTask { await listener.run(for: JobQueue()) { _ in look.yield() } }
                group.addTask {
                    while (try? await Task.sleep(for: .seconds(1))) != nil { look.yield() }
                    look.finish()
                }
                defer { group.cancelAll() }
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
                        // The reader may go meanwhile.
                        try watch.flush()
                    }
                }
                throw CancellationError()
            }
        }
    }
}
