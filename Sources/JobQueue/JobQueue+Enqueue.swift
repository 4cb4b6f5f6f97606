package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JobQueue {
    /// Adds jobs in the caller's transaction; they exist when it commits.
    ///
    /// The result is in the order of `jobs`.
    ///
    /// Wakes nobody: call ``wake(_:in:)`` after the commit, or leave it to polling. A notification inside the transaction
    /// would make all committers queue up for one lock.
    ///
    /// - Throws: ``PostgresError``.
    @discardableResult
    package func enqueue(_ jobs: [NewJob], on connection: isolated Connection) throws -> [EnqueuedJob] {
        guard !jobs.isEmpty else { return [] }
        guard jobs.contains(where: { $0.uniqueKey != nil }) else {
            let ids = try connection.query(insertion(of: jobs) + " returning id", as: Int64.self)
            return ids.map { EnqueuedJob(id: $0, isNew: true) }
        }
        var result: [EnqueuedJob?] = Array(repeating: nil, count: jobs.count)
        let plain = jobs.indices.filter { jobs[$0].uniqueKey == nil }
        for (index, job) in zip(plain, try enqueue(plain.map { jobs[$0] }, on: connection)) { result[index] = job }
        try enqueueUnique(jobs, into: &result, on: connection)
        return result.compactMap { $0 }
    }

    private func enqueueUnique(
        _ jobs: [NewJob],
        into result: inout [EnqueuedJob?],
        on connection: isolated Connection
    ) throws {
        // The first job of a key within one call wins, as it would in two calls.
        var first: [String: Int] = [:]
        for index in jobs.indices {
            if let key = jobs[index].uniqueKey, first[key] == nil { first[key] = index }
        }
        var missing = Set(first.keys)
        var found: [String: EnqueuedJob] = [:]
        while !missing.isEmpty {
            // Everybody inserts in the order of the keys: two calls with the same keys wait for, but never deadlock, each other.
            let candidates = missing.sorted().compactMap { first[$0] }.map { jobs[$0] }
            let added = try connection.query(
                insertion(of: candidates)
                    + """
                     on conflict (unique_key) where j.unique_key is not null do nothing
                    returning id, unique_key
                    """,
                as: (Int64, String).self
            )
            for (id, key) in added {
                found[key] = EnqueuedJob(id: id, isNew: true)
                missing.remove(key)
            }
            guard !missing.isEmpty else { break }
            let live = try connection.query(
                "select id, unique_key from \(tables.jobs) where unique_key = any(\(missing.sorted())::text[])",
                as: (Int64, String).self
            )
            for (id, key) in live {
                found[key] = EnqueuedJob(id: id, isNew: false)
                missing.remove(key)
            }
            // What is still missing finished between the two statements: its key is free now.
        }
        for index in jobs.indices {
            guard let key = jobs[index].uniqueKey, let job = found[key] else { continue }
            result[index] = first[key] == index ? job : EnqueuedJob(id: job.id, isNew: false)
        }
    }

    /// A statement that inserts jobs in their order.
    private func insertion(of jobs: [NewJob]) -> Statement {
        """
        insert into \(tables.jobs) as j
            (kind, queue, args, args_version, priority, run_at, state, unique_key, limit_key, max_attempts)

        """ + EnqueueRows(jobs, tables).source
    }
}

/// The rows of an insert, as a query: constants where all jobs agree, which travel and are read once, and elements of arrays where
/// they differ.
private struct EnqueueRows {
    let source: Statement

    init(_ jobs: [NewJob], _ tables: JobTables) {
        var arrays: [Statement] = []
        var names: [String] = []
        func column<Value: PostgresEncodable & Equatable & Sendable>(
            _ name: String,
            _ type: String,
            _ value: (NewJob) -> Value
        ) -> Statement where [Value]: PostgresEncodable {
            let first = value(jobs[0])
            if jobs.allSatisfy({ value($0) == first }) { return "\(first)::\(unsafeSQL: type)" }
            arrays.append("\(jobs.map(value))::\(unsafeSQL: type)[]")
            names.append(name)
            return "\(unsafeSQL: name)"
        }
        let kind = column("kind", "text", \.kind)
        let queue = column("queue", "text", \.queue)
        let arguments = column("args", "text", \.arguments.json)
        let version = column("version", "smallint", \.argumentsVersion)
        let priority = column("priority", "smallint", \.priority)
        let runAt = column("run_at", "timestamptz", \.runAt)
        let uniqueKey = column("unique_key", "text", \.uniqueKey)
        let limitKey = column("limit_key", "text", \.limitKey)
        let maxAttempts = column("max_attempts", "smallint", \.maxAttempts)
        let values: Statement = """
            \(kind), \(queue), \(arguments)::jsonb, \(version), \(priority), coalesce(\(runAt), now()),
            case when \(runAt) > now() then 'scheduled' else 'available' end::\(tables.schema).job_state,
            \(uniqueKey), \(limitKey), \(maxAttempts)
            """
        if arrays.isEmpty {
            let isOne = jobs.count == 1
            source = isOne ? "values (" + values + ")" : "select " + values + " from generate_series(1, \(jobs.count))"
            return
        }
        var list = Statement(unsafeSQL: "")
        for (index, array) in arrays.enumerated() { list += index == 0 ? array : ", " + array }
        source =
            "select " + values + " from unnest(" + list
            + ") with ordinality as i(\(unsafeSQL: names.joined(separator: ", ")), n) order by n"
    }
}
