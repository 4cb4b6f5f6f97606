import LibPQ

extension Connection {
    /// Runs a statement and returns all its rows as typed tuples: `as: (UUID, String?).self`, or `as: Int.self` for one
    /// column.
    ///
    /// - Throws: ``PostgresError``: `server`, `decoding` naming column, type and statement, `unexpectedColumns`, and
    ///   what the description of ``Connection`` says about cancellation and deadlines.
    package func query<each Column: PostgresDecodable>(
        _ statement: Statement,
        as types: (repeat each Column).Type,
        deadline: Duration? = nil
    ) throws -> [(repeat each Column)] {
        let row = RowReader<repeat each Column>(statement: statement)
        let result = try rows(for: row, deadline: deadline)
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
        let result = try rows(for: row, deadline: deadline)
        guard try row.hasRow(result) else { return nil }
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
        let result = try rows(for: row, deadline: deadline)
        guard result.rowCount == 1 else { throw row.unexpected(result.rowCount, "exactly one row") }
        return try row.read(result, at: 0)
    }

    /// Runs a statement of one column and returns all its rows.
    ///
    /// Like ``query(_:as:deadline:)`` of several columns; a separate function because Swift 6.3 does not see that a
    /// tuple of one element may leave an actor.
    package func query<Column: PostgresDecodable>(
        _ statement: Statement,
        as type: Column.Type,
        deadline: Duration? = nil
    ) throws -> [Column] {
        let row = RowReader<Column>(statement: statement)
        let result = try rows(for: row, deadline: deadline)
        return try (0..<result.rowCount).map { try row.read(result, at: $0) }
    }

    /// Runs a statement of one column that returns at most one row.
    ///
    /// - Throws: As ``first(_:as:deadline:)`` of several columns.
    package func first<Column: PostgresDecodable>(
        _ statement: Statement,
        as type: Column.Type,
        deadline: Duration? = nil
    ) throws -> Column? {
        let row = RowReader<Column>(statement: statement)
        let result = try rows(for: row, deadline: deadline)
        return try row.hasRow(result) ? row.read(result, at: 0) : nil
    }

    /// Runs a statement of one column that returns exactly one row.
    ///
    /// - Throws: As ``one(_:as:deadline:)`` of several columns.
    package func one<Column: PostgresDecodable>(
        _ statement: Statement,
        as type: Column.Type,
        deadline: Duration? = nil
    ) throws -> Column {
        let row = RowReader<Column>(statement: statement)
        let result = try rows(for: row, deadline: deadline)
        guard result.rowCount == 1 else { throw row.unexpected(result.rowCount, "exactly one row") }
        return try row.read(result, at: 0)
    }

    /// Runs the statement of a reader, and checks that it returns as many columns as the reader has.
    func rows<each Column: PostgresDecodable>(
        for reader: RowReader<repeat each Column>,
        deadline: Duration?
    ) throws -> QueryResult {
        let statement = reader.statement
        let binaryResult = reader.readsBinary
        let result = try allowing(deadline) {
            try run(statement, binaryResult: binaryResult, deadline: deadline)
        }
        try reader.checkColumns(of: result)
        return result
    }

    /// Runs a statement for its effect, including statements that cannot run in a transaction.
    ///
    /// - Returns: The number of rows affected or returned.
    /// - Throws: ``PostgresError``, and what the description of ``Connection`` says about cancellation and deadlines.
    @discardableResult
    package func execute(_ statement: Statement, deadline: Duration? = nil) throws -> Int {
        try run(statement, binaryResult: true, deadline: deadline).affectedRows
    }

    /// Runs several statements without parameters with the simple protocol, in one implicit transaction unless they say
    /// otherwise.
    ///
    /// Never build the text from input.
    ///
    /// - Throws: As ``execute(_:deadline:)``.
    package func script(unsafeSQL sql: String, deadline: Duration? = nil) throws {
        guard !sql.utf8.contains(0) else { throw encodingError(.nul, Statement(unsafeSQL: "")) }
        try raiseServerLimit(for: deadline)
        try operate(.busy, deadline: deadline) { try runScript(sql, $0) }
    }
}
