import LibPQ

extension Connection {
    /// Sends one statement and reads its result to the end, prepared if that pays off.
    @discardableResult
    func run(
        _ statement: Statement,
        binaryResult: Bool,
        deadline: Duration?,
        isCancellable: Bool = true
    ) throws -> QueryResult {
        try checkSendable(statement)
        // COMMIT runs under the server limit of the statements before it, and a cancelled task must not stop it.
        if isCancellable { try raiseServerLimit(for: deadline) }
        guard route.keepsSession else {
            return try operate(.busy, deadline: deadline, isCancellable: isCancellable) { handle in
                try runUnprepared(statement, binaryResult, handle)
            }
        }
        let key = PreparedStatements.Key(text: statement.text, types: statement.parameters.types)
        let plan = prepared.plan(for: key)
        // Read before the statement runs: after a failed COMMIT no transaction is open, and the retry below would run
        // COMMIT again and succeed.
        let wasInTransaction = isInTransaction
        do {
            return try operate(.busy, deadline: deadline, isCancellable: isCancellable) { handle in
                switch plan {
                case .runUnprepared: return try runUnprepared(statement, binaryResult, handle)
                case .use(let name): return try runPrepared(name, statement, binaryResult, handle)
                case .prepare(let name):
                    try prepare(key, name, handle)
                    try checkInterruption(before: statement.text)
                    return try runPrepared(name, statement, binaryResult, handle)
                }
            }
        } catch let error as PostgresError where plan != .runUnprepared && Self.isStale(error) {
            // The prepared statement was dropped, or its table has changed columns. Nothing has been executed yet.
            prepared.forget(key)
            guard !wasInTransaction else { throw error }
            return try operate(.busy, deadline: deadline, isCancellable: isCancellable) { handle in
                try runUnprepared(statement, binaryResult, handle)
            }
        }
    }

    /// Sends statements with the simple protocol and reads their results to the end.
    func runScript(_ sql: String, _ handle: ConnectionHandle) throws {
        guard handle.sendQuery(sql) else { throw lost(handle) }
        try flush(handle)
        if let failed = try drain(handle) { throw error(failed, handle, statement: nil) }
    }

    private func runUnprepared(
        _ statement: Statement,
        _ binaryResult: Bool,
        _ handle: ConnectionHandle
    ) throws -> QueryResult {
        guard handle.sendQuery(statement.text, statement.parameters, binaryResult: binaryResult) else {
            throw lost(handle)
        }
        try flush(handle)
        let result = try onlyResult(handle, statement.text)
        if ["DISCARD ALL", "DEALLOCATE", "DEALLOCATE ALL"].contains(result.commandTag) { prepared.forgetAll() }
        return result
    }

    private func runPrepared(
        _ name: String,
        _ statement: Statement,
        _ binaryResult: Bool,
        _ handle: ConnectionHandle
    ) throws -> QueryResult {
        guard handle.sendPrepared(name: name, statement.parameters, binaryResult: binaryResult) else {
            throw lost(handle)
        }
        try flush(handle)
        return try onlyResult(handle, statement.text)
    }

    private func prepare(_ key: PreparedStatements.Key, _ name: String, _ handle: ConnectionHandle) throws {
        // Not in a failed transaction, where only a rollback runs.
        if !prepared.dropped.isEmpty, handle.transactionStatus == .idle {
            let sql = prepared.takeDropped().map { "deallocate \($0)" }.joined(separator: "; ")
            guard handle.sendQuery(sql) else { throw lost(handle) }
            try flush(handle)
            // A name that the server no longer knows is as good as dropped.
            _ = try drain(handle)
        }
        guard handle.sendPrepare(name: name, key.text, types: key.types) else { throw lost(handle) }
        try flush(handle)
        _ = try onlyResult(handle, key.text)
        prepared.prepared(key, name: name)
    }

    private static func isStale(_ error: PostgresError) -> Bool {
        error.sqlState == .invalidStatementName || error.sqlState == .featureNotSupported
    }

    /// Reads the single result of a statement.
    func onlyResult(_ handle: ConnectionHandle, _ statement: String) throws -> QueryResult {
        guard let result = try nextResult(handle) else { throw lost(handle) }
        switch result.status {
        case .commandOK, .tuplesOK, .emptyQuery:
            if let failed = try drain(handle) { throw error(failed, handle, statement: statement) }
            return result
        case .fatalError:
            _ = try drain(handle)
            throw error(result, handle, statement: statement)
        case .copyIn: try endCopyIn(handle)
        case .copyOut, .copyBoth: try discardCopyOut(handle)
        case .singleTuple, .other: break
        }
        _ = try drain(handle)
        throw unexpectedCopy(statement)
    }

    func unexpectedCopy(_ statement: String) -> PostgresError {
        PostgresError(
            .unexpectedResult,
            statement: statement,
            reason: "the statement copies, which no call here does"
        )
    }

    /// Rejects a statement that cannot be sent.
    func checkSendable(_ statement: Statement) throws(PostgresError) {
        if let fault = statement.fault { throw encodingError(fault, statement) }
        if statement.parameters.count > 65_535 { throw encodingError(.tooMany, statement) }
    }

    func encodingError(_ fault: EncodingFault, _ statement: Statement) -> PostgresError {
        PostgresError(.encoding, statement: statement.text, reason: fault.reason)
    }
}
