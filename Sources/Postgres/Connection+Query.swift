import LibPQ

extension Connection {
    /// Runs a statement and gives all its rows as typed tuples: `as: (UUID, String?).self`, or `as: Int.self` for one column.
    ///
    /// - Throws: ``PostgresError``: `server`, `decoding` naming column, type and statement, `unexpectedColumns`, and what
    ///   the type's description tells of cancellation and deadlines.
    package func query<each Column: PostgresDecodable>(
        _ statement: Statement,
        as types: (repeat each Column).Type,
        deadline: Duration? = nil
    ) throws -> [(repeat each Column)] {
        let row = RowReader<repeat each Column>(statement: statement)
        let result = try run(statement, binaryResult: row.readsBinary, deadline: deadline)
        try row.checkColumns(of: result)
        var rows: [(repeat each Column)] = []
        rows.reserveCapacity(result.rowCount)
        for index in 0..<result.rowCount {
            rows.append(try row.read(result, at: index))
        }
        return rows
    }

    /// Runs a statement that returns at most one row.
    ///
    /// - Throws: As ``query(_:as:deadline:)``; `unexpectedRowCount` for two rows or more.
    package func first<each Column: PostgresDecodable>(
        _ statement: Statement,
        as types: (repeat each Column).Type,
        deadline: Duration? = nil
    ) throws -> (repeat each Column)? {
        let row = RowReader<repeat each Column>(statement: statement)
        let result = try run(statement, binaryResult: row.readsBinary, deadline: deadline)
        try row.checkColumns(of: result)
        guard result.rowCount <= 1 else { throw row.unexpected(result.rowCount, "at most one row") }
        guard result.rowCount == 1 else { return nil }
        let values: (repeat each Column) = try row.read(result, at: 0)
        return .some(values)
    }

    /// Runs a statement that returns exactly one row.
    ///
    /// - Throws: As ``query(_:as:deadline:)``; `unexpectedRowCount` for none, or two rows or more.
    package func one<each Column: PostgresDecodable>(
        _ statement: Statement,
        as types: (repeat each Column).Type,
        deadline: Duration? = nil
    ) throws -> (repeat each Column) {
        let row = RowReader<repeat each Column>(statement: statement)
        let result = try run(statement, binaryResult: row.readsBinary, deadline: deadline)
        try row.checkColumns(of: result)
        guard result.rowCount == 1 else { throw row.unexpected(result.rowCount, "exactly one row") }
        return try row.read(result, at: 0)
    }

    /// Runs a statement for its effect.
    ///
    /// - Returns: The rows affected, or returned.
    @discardableResult
    package func execute(_ statement: Statement, deadline: Duration? = nil) throws -> Int {
        try run(statement, binaryResult: true, deadline: deadline).affectedRows
    }

    /// Runs several statements without parameters by the simple protocol, in one implicit transaction unless they say
    /// otherwise.
    ///
    /// Never build the text from input.
    package func script(unsafeSQL sql: String, deadline: Duration? = nil) throws {
        guard !sql.utf8.contains(0) else { throw encodingError(.nul, Statement(unsafeSQL: "")) }
        try operate(.busy, deadline: deadline) { handle in
            guard handle.sendQuery(sql) else { throw lost(handle) }
            try flush(handle)
            if let failed = try drain(handle) { throw error(failed, handle, statement: nil) }
        }
    }

    /// Sends one statement and reads its result to the end.
    @discardableResult
    func run(
        _ statement: Statement,
        binaryResult: Bool,
        deadline: Duration?,
        isCancellable: Bool = true
    ) throws -> QueryResult {
        try checkSendable(statement)
        return try operate(.busy, deadline: deadline, isCancellable: isCancellable) { handle in
            guard handle.sendQuery(statement.text, statement.parameters, binaryResult: binaryResult) else {
                throw lost(handle)
            }
            try flush(handle)
            return try onlyResult(handle, statement.text)
        }
    }

    /// Reads the one result of a statement.
    func onlyResult(_ handle: ConnectionHandle, _ statement: String) throws -> QueryResult {
        guard let result = try nextResult(handle) else { throw lost(handle) }
        switch result.status {
        case .commandOK, .tuplesOK, .emptyQuery:
            if let failed = try drain(handle) { throw error(failed, handle, statement: statement) }
            return result
        case .fatalError:
            _ = try drain(handle)
            throw error(result, handle, statement: statement)
        case .copyIn:
            try endCopyIn(handle, failing: "this call does not copy")
            _ = try drain(handle)
        case .copyOut, .copyBoth:
            try discardCopyOut(handle)
            _ = try drain(handle)
        case .singleTuple, .pipelineSync, .pipelineAborted, .other:
            _ = try drain(handle)
        }
        throw PostgresError(
            .unexpectedResult,
            statement: statement,
            reason: "the statement copies: use copyIn or copyOut"
        )
    }

    /// Refuses a statement with a value that cannot be sent.
    func checkSendable(_ statement: Statement) throws(PostgresError) {
        if let fault = statement.fault { throw encodingError(fault, statement) }
        if statement.parameters.count > 65_535 { throw encodingError(.tooMany, statement) }
        if statement.text.utf8.contains(0) { throw encodingError(.nul, statement) }
    }

    func encodingError(_ fault: EncodingFault, _ statement: Statement) -> PostgresError {
        PostgresError(.encoding, statement: statement.text, reason: fault.reason)
    }
}
