import Postgres

/// The rows of an insert, as a query.
///
/// A column in which all jobs agree is a constant, sent and parsed once; a column in which they differ is an array.
struct EnqueueRows {
    let source: Statement

    init(_ jobs: [NewJob], _ tables: JobTables) {
        var arrays: [Statement] = []
        var names: [String] = []
        func column<Value: PostgresEncodable & Sendable>(
            _ name: String,
            _ type: String,
            sentAs sent: String? = nil,
            _ value: (NewJob) -> Value,
            isSame: (Value, Value) -> Bool
        ) -> Statement where [Value]: PostgresEncodable {
            let first = value(jobs[0])
            if jobs.allSatisfy({ isSame(value($0), first) }) { return "\(first)::\(unsafeSQL: type)" }
            arrays.append("\(jobs.map(value))::\(unsafeSQL: sent ?? type)[]")
            names.append(name)
            return sent == nil ? "\(unsafeSQL: name)" : "\(unsafeSQL: name)::\(unsafeSQL: type)"
        }
        func column<Value: PostgresEncodable & Equatable & Sendable>(
            _ name: String,
            _ type: String,
            _ value: (NewJob) -> Value
        ) -> Statement where [Value]: PostgresEncodable {
            column(name, type, value, isSame: ==)
        }
        func text(_ name: String, _ value: (NewJob) -> String?) -> Statement {
            column(name, "text", value) { $0.map(ExactText.init) == $1.map(ExactText.init) }
        }
        let kind = text("kind", \.kind)
        let queue = text("queue", \.queue)
        // Cast one by one: casting them as an array first takes a third longer.
        let arguments = column("args", "jsonb", sentAs: "text", \.arguments.json) { ExactText($0) == ExactText($1) }
        let version = column("version", "smallint", \.argumentsVersion)
        let priority = column("priority", "smallint", \.priority)
        let runAt = column("run_at", "timestamptz", \.runAt)
        let uniqueKey = text("unique_key", \.uniqueKey)
        let limitKey = text("limit_key", \.limitKey)
        let maxAttempts = column("max_attempts", "smallint", \.maxAttempts)
        let values: Statement = """
            \(kind), \(queue), \(arguments), \(version), \(priority), coalesce(\(runAt), now()),
            \(JobTables.state(runAt: runAt, tables.schema)),
            \(uniqueKey), \(limitKey), \(maxAttempts)
            """
        if arrays.isEmpty {
            source = "select " + values + " from generate_series(1, \(jobs.count))"
            return
        }
        var list = Statement(unsafeSQL: "")
        for (index, array) in arrays.enumerated() { list += index == 0 ? array : ", " + array }
        source =
            "select " + values + " from unnest(" + list
            + ") with ordinality as i(\(unsafeSQL: names.joined(separator: ", ")), n) order by n"
    }
}
