import LibPQ

/// Reads rows of one statement as typed tuples.
struct RowReader<each Column: PostgresDecodable> {
    let statement: Statement

    init(statement: Statement) {
        self.statement = statement
    }

    /// Whether every column can be read in binary: the server uses one format for all.
    var readsBinary: Bool {
        // Packs are expanded into calls, here and below: the optimizer of Swift 6.3 miscounts a loop over a pack of
        // types.
        var allRead = true
        func look<Value: PostgresDecodable>(_ type: Value.Type) { allRead = allRead && type.readsBinary }
        _ = (repeat look((each Column).self))
        return allRead
    }

    private var columnCount: Int {
        var count = 0
        func add<Value: PostgresDecodable>(_ type: Value.Type) { count += 1 }
        _ = (repeat add((each Column).self))
        return count
    }

    /// Rejects a result with a different number of columns, even if it has no rows.
    func checkColumns(of result: QueryResult) throws(PostgresError) {
        let expected = columnCount
        guard result.columnCount == expected else {
            throw PostgresError(
                .unexpectedColumns,
                statement: statement.text,
                reason: "expected \(expected) columns, got \(result.columnCount)"
            )
        }
    }

    /// The error for a number of rows that the caller did not ask for.
    func unexpected(_ count: Int, _ wanted: String) -> PostgresError {
        PostgresError(.unexpectedRowCount, statement: statement.text, reason: "expected \(wanted), got \(count)")
    }

    /// Whether a result has a row; more than one is an error.
    func hasRow(_ result: QueryResult) throws(PostgresError) -> Bool {
        guard result.rowCount <= 1 else { throw unexpected(result.rowCount, "at most one row") }
        return result.rowCount == 1
    }

    /// Reads one row; the caller has checked the columns.
    func read(_ result: QueryResult, at row: Int) throws -> (repeat each Column) {
        var column = -1
        func value<Value: PostgresDecodable>(_ type: Value.Type) throws -> Value {
            column += 1
            let cell = result.bytes(row: row, column: column).map {
                Cell(bytes: $0, type: result.columnType(column), isBinary: result.isBinary(column))
            }
            do throws(DecodingFault) {
                return try Value.read(cell)
            } catch {
                throw decodingError(error, type, result, column)
            }
        }
        let values = (repeat try value((each Column).self))
        // The cells point into the result.
        withExtendedLifetime(result) {}
        return values
    }

    private func decodingError(
        _ fault: DecodingFault,
        _ type: any PostgresDecodable.Type,
        _ result: QueryResult,
        _ column: Int
    ) -> PostgresError {
        let name = result.columnName(column) ?? "?"
        return PostgresError(
            .decoding,
            statement: statement.text,
            reason: "column \(column + 1) \"\(name)\" (\(TypeID.name(result.columnType(column)))) cannot be read as "
                + "\(type): \(fault.reason); statement: \(statement.text)"
        )
    }
}
