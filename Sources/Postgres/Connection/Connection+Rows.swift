import LibPQ

extension Connection {
    /// Runs a statement and creates a value from each row: `into: Row.init`, where `Row` declares the columns in the
    /// order of the statement.
    ///
    /// For rows of many columns: each has a name beside its type, so that nobody has to count positions.
    ///
    /// - Throws: As ``query(_:as:deadline:)``, and what `row` throws.
    package func query<each Column: PostgresDecodable, Row>(
        _ statement: Statement,
        into row: (repeat each Column) throws -> Row,
        deadline: Duration? = nil
    ) throws -> [Row] {
        let reader = RowReader<repeat each Column>(statement: statement)
        let result = try rows(for: reader, deadline: deadline)
        return try (0..<result.rowCount).map { index in
            let values: (repeat each Column) = try reader.read(result, at: index)
            return try row(repeat each values)
        }
    }

    /// Runs a statement that returns at most one row, and creates a value from it.
    ///
    /// - Throws: As ``first(_:as:deadline:)``, and what `row` throws.
    package func first<each Column: PostgresDecodable, Row>(
        _ statement: Statement,
        into row: (repeat each Column) throws -> Row,
        deadline: Duration? = nil
    ) throws -> Row? {
        let reader = RowReader<repeat each Column>(statement: statement)
        let result = try rows(for: reader, deadline: deadline)
        guard try reader.hasRow(result) else { return nil }
        let values: (repeat each Column) = try reader.read(result, at: 0)
        return try row(repeat each values)
    }

    /// Runs a statement that returns exactly one row, and creates a value from it.
    ///
    /// - Throws: As ``one(_:as:deadline:)``, and what `row` throws.
    package func one<each Column: PostgresDecodable, Row>(
        _ statement: Statement,
        into row: (repeat each Column) throws -> Row,
        deadline: Duration? = nil
    ) throws -> Row {
        let reader = RowReader<repeat each Column>(statement: statement)
        let result = try rows(for: reader, deadline: deadline)
        guard result.rowCount == 1 else { throw reader.unexpected(result.rowCount, "exactly one row") }
        let values: (repeat each Column) = try reader.read(result, at: 0)
        return try row(repeat each values)
    }
}
