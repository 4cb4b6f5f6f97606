import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// The jobs that a command acts on: some by their ids, or one by its unique key.
struct JobChoice: ParsableArguments {
    @Argument(help: "The ids of the jobs.")
    var ids: [Int64] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Instead of ids: the unfinished job that has this unique key.", valueName: "key")
    )
    var uniqueKey: String?

    func validate() throws {
        if ids.isEmpty == (uniqueKey == nil) { throw ValidationError("name ids, or one job by --unique-key") }
    }
}

extension CommandContext {
    /// The ids of the jobs that were chosen.
    ///
    /// - Throws: as ``job(withKey:orEnded:)``.
    func ids(of choice: JobChoice) async throws -> [Int64] {
        guard let key = choice.uniqueKey else { return choice.ids }
        return [try await job(withKey: key)]
    }

    /// The one job that a unique key names: the unfinished one, or else the only one that ended in one of these states.
    ///
    /// - Throws: `JobQueueError` for an invalid key; ``CommandError`` if no job has the key, or several ended;
    ///   ``PostgresError``.
    func job(withKey key: String, orEnded states: [JobState] = []) async throws -> Int64 {
        var filter = JobFilter()
        filter.uniqueKey = key
        try filter.check()
        // A message names at most this many: the intended job is among the last.
        let most = 5
        let fitting: [Int64] = try await withConnection { connection in
            let queue = JobQueue()
            if let job = try queue.find(keys: [key], on: connection).first { return [job.id] }
            return try queue.ids(ofEnded: states, withKey: key, limit: most + 1, on: connection)
        }
        guard let first = fitting.first else {
            let wanted = (["unfinished"] + states.map(\.rawValue)).joined(separator: " or ")
            throw CommandError(.notFound, "no \(wanted) job has the unique key \(SafeText.quoted(key))")
        }
        guard fitting.count == 1 else {
            let ids = fitting.prefix(most).map { "\($0)" }.joined(separator: ", ")
            throw CommandError(
                .usage,
                "several jobs that have ended had the unique key \(SafeText.quoted(key)): name one by its id; the last "
                    + "are \(ids)"
            )
        }
        return first
    }
}
