package import Postgres

extension JobQueue {
    /// Adds jobs in the caller's transaction; they exist once it commits.
    ///
    /// The result is in the order of `jobs`.
    ///
    /// Does not wake workers: call ``wake(_:in:)`` after the commit, or leave it to polling. A notification inside the
    /// transaction would serialize all committers on one lock.
    ///
    /// - Throws: ``PostgresError``; ``JobQueueError`` naming the arguments if the server rejects them as JSON.
    @discardableResult
    package func enqueue(_ jobs: [NewJob], on connection: isolated Connection) throws -> [EnqueuedJob] {
        guard !jobs.isEmpty else { return [] }
        return try namingArguments { try add(jobs, on: connection) }
    }

    /// Adds jobs in the caller's transaction, for callers that need no ids; they exist once it commits.
    ///
    /// A job whose unique key is taken is not added; everything else is as with ``enqueue(_:on:)``. Returning ids costs
    /// the server more than two of the table's indexes: it materializes the whole result before it sends the first row.
    ///
    /// - Throws: ``PostgresError``; ``JobQueueError`` naming the arguments if the server rejects them as JSON.
    package func enqueueAndForget(_ jobs: [NewJob], on connection: isolated Connection) throws {
        guard !jobs.isEmpty else { return }
        let isPlain = jobs.count == 1 && jobs[0].isPlain
        let insertion =
            isPlain
            ? plain(jobs[0], by: tables.insertPlain)
            : insertion(of: Self.inOrderOfKeys(jobs)) + Self.unlessKeyIsTaken
        _ = try namingArguments { try connection.execute(insertion) }
    }

    /// The order in which every call inserts: two calls with the same keys wait for each other, but never deadlock.
    ///
    /// Jobs with the same key, or without a key, keep their order.
    private static func inOrderOfKeys(_ jobs: [NewJob]) -> [NewJob] {
        jobs.enumerated()
            .map { (key: $1.uniqueKey.map(ExactText.init), place: $0, job: $1) }
            .sorted { left, right in
                guard let leftKey = left.key, let rightKey = right.key else {
                    return left.key == nil && (right.key != nil || left.place < right.place)
                }
                return leftKey == rightKey ? left.place < right.place : leftKey < rightKey
            }
            .map(\.job)
    }

    /// The end of an insert statement that skips jobs whose unique key an unfinished job holds.
    private static let unlessKeyIsTaken: Statement =
        " on conflict (unique_key) where j.unique_key is not null do nothing"

    private func add(_ jobs: [NewJob], on connection: isolated Connection) throws -> [EnqueuedJob] {
        guard jobs.contains(where: { $0.uniqueKey != nil }) else {
            return try insert(jobs, on: connection).map { EnqueuedJob(id: $0, isNew: true) }
        }
        var result: [EnqueuedJob?] = Array(repeating: nil, count: jobs.count)
        let plain = jobs.indices.filter { jobs[$0].uniqueKey == nil }
        for (index, job) in zip(plain, try insert(plain.map { jobs[$0] }, on: connection)) {
            result[index] = EnqueuedJob(id: job, isNew: true)
        }
        try enqueueUnique(jobs, into: &result, on: connection)
        return result.compactMap { $0 }
    }

    /// Adds one plain job, and notifies workers when the insert commits.
    func enqueueAndNotify(_ job: NewJob, on connection: isolated Connection) throws -> EnqueuedJob {
        let row = try namingArguments {
            try connection.one(plain(job, by: tables.insertPlainAndNotify), as: (Int64, Bool).self)
        }
        return EnqueuedJob(id: row.0, isNew: true)
    }

    /// Names the field in an error about refused values: all others were checked when the job was created.
    private func namingArguments<Result>(_ insert: () throws -> Result) throws -> Result {
        do {
            return try insert()
        } catch let error as PostgresError where Settlement.isRefusal(error) && error.sqlState != .uniqueViolation {
            throw JobQueueError.invalid("arguments", "must be JSON that the database can store")
        }
    }

    private func enqueueUnique(
        _ jobs: [NewJob],
        into result: inout [EnqueuedJob?],
        on connection: isolated Connection
    ) throws {
        // The first job of a key within one call wins, as it would in two calls.
        let keys = jobs.map { $0.uniqueKey.map(ExactText.init) }
        var first: [ExactText: Int] = [:]
        for (index, key) in keys.enumerated() {
            if let key, first[key] == nil { first[key] = index }
        }
        var missing = Set(first.keys)
        var found: [ExactText: EnqueuedJob] = [:]
        while !missing.isEmpty {
            let candidates = missing.compactMap { first[$0] }.map { jobs[$0] }
            let added = try connection.query(
                insertion(of: Self.inOrderOfKeys(candidates)) + Self.unlessKeyIsTaken + " returning id, unique_key",
                as: (Int64, String).self
            )
            for (id, key) in added {
                found[ExactText(key)] = EnqueuedJob(id: id, isNew: true)
                missing.remove(ExactText(key))
            }
            guard !missing.isEmpty else { break }
            let live = try connection.query(
                "select id, unique_key from \(tables.jobs) where unique_key = any(\(missing.map(\.text).sorted())::text[])",
                as: (Int64, String).self
            )
            for (id, key) in live {
                found[ExactText(key)] = EnqueuedJob(id: id, isNew: false)
                missing.remove(ExactText(key))
            }
            // Jobs still missing finished between the two statements: their keys are free now.
        }
        for (index, key) in keys.enumerated() {
            guard let key, let job = found[key] else { continue }
            result[index] = first[key] == index ? job : EnqueuedJob(id: job.id, isNew: false)
        }
    }

    /// Inserts jobs without unique keys, and returns their ids in the order of the jobs.
    private func insert(_ jobs: [NewJob], on connection: isolated Connection) throws -> [Int64] {
        guard !jobs.isEmpty else { return [] }
        // Prepared in advance: most callers run this statement, one job at a time and often.
        if jobs.count == 1, jobs[0].isPlain {
            return [try connection.one(plain(jobs[0], by: tables.insertPlainForID), as: Int64.self)]
        }
        // The sequence hands out ids in the order of the rows, and RETURNING keeps that order.
        return try connection.query(insertion(of: jobs) + " returning id", as: Int64.self)
    }

    /// One of the statements that add a plain job, with the job's values.
    private func plain(_ job: NewJob, by statement: Statement) -> Statement {
        statement.with(job.kind, job.queue, job.arguments.json, job.argumentsVersion, job.priority)
    }

    /// A statement that inserts jobs in the given order.
    private func insertion(of jobs: [NewJob]) -> Statement {
        guard jobs.count == 1 else {
            return "\(JobTables.insertion(into: tables.jobs)) \(EnqueueRows(jobs, tables).source)"
        }
        let job = jobs[0]
        return tables.insertOne.with(
            job.kind,
            job.queue,
            job.arguments.json,
            job.argumentsVersion,
            job.priority,
            job.runAt,
            job.runAt,
            job.uniqueKey,
            job.limitKey,
            job.maxAttempts
        )
    }
}
