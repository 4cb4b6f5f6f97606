import ArgumentParser
import Postgres
import Terminal

extension CommandContext {
    /// Writes a list of at most `limit` rows, with a warning if there are more.
    ///
    /// - Parameters:
    ///   - rows: one more than the limit if there are more.
    ///   - fields: the columns.
    ///   - limit: the value of `--limit`.
    ///   - limits: the range allowed for `--limit`.
    ///   - note: the message for an empty list.
    ///   - output: the output to use instead of the command's own.
    /// - Throws: as `Output.list`.
    func list<Row>(
        _ rows: [Row],
        _ fields: [Field<Row>],
        limit: Int,
        of limits: ClosedRange<Int>,
        whenEmpty note: String,
        to output: Output? = nil
    ) throws {
        try (output ?? self.output).list(rows.prefix(limit), fields, whenEmpty: note)
        if rows.count > limit { tellMore(than: limit, of: limits) }
    }

    /// Shows one row of a list with all of the list's fields.
    ///
    /// - Parameters:
    ///   - what: the row's name in the error when there is no such row.
    ///   - fields: the columns.
    ///   - read: finds the row, or returns nil.
    /// - Returns: ``ExitStatus/ok``.
    /// - Throws: ``CommandError`` if there is no such row; the errors of `read` and `Output.show`.
    func showOne<Row: Sendable>(
        _ what: String,
        _ fields: [Field<Row>],
        _ read: @Sendable (isolated Connection) throws -> Row?
    ) async throws -> ExitStatus {
        let found = try await withConnection { connection in try read(connection) }
        guard let found else { throw CommandError(.notFound, "there is no \(what)") }
        try output.show(Sheet(facts: Sheet.facts(of: fields, row: found)))
        return .ok
    }

    /// Warns that there are more rows than `--limit` allows, and suggests raising it where possible.
    func tellMore(than limit: Int, of limits: ClosedRange<Int>, _ what: String? = nil) {
        let more = "there are more than \(limit)" + (what.map { " " + $0 } ?? "")
        messages.warning(more + (limit < limits.upperBound ? ": raise --limit" : ", the most that are listed"))
    }
}

extension ClosedRange<Int> {
    /// Checks that the value of `--limit` lies in this range.
    ///
    /// - Throws: `ValidationError`.
    func check(_ limit: Int) throws {
        if !contains(limit) { throw ValidationError("--limit must be between \(lowerBound) and \(upperBound)") }
    }
}
