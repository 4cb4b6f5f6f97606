import ArgumentParser
import Postgres
import Terminal

extension CommandContext {
    /// Writes a list of at most `limit` rows, and says when there are more.
    ///
    /// - Parameters:
    ///   - rows: one more than the limit where there are more.
    ///   - fields: the columns.
    ///   - limit: what `--limit` says.
    ///   - limits: what it may say.
    ///   - note: what people are told when the list is empty.
    ///   - output: where to, when it is not the command's own.
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

    /// Shows one row of a list, as all the fields of the list tell of it.
    ///
    /// - Parameters:
    ///   - what: what is called so where it is not there.
    ///   - fields: the columns.
    ///   - read: finds it.
    /// - Returns: That all is well.
    /// - Throws: ``CommandError`` where there is none; as `read` and `Output.show`.
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

    /// Says that there is more than `--limit` lets through, and what helps.
    func tellMore(than limit: Int, of limits: ClosedRange<Int>, _ what: String? = nil) {
        let more = "there are more than \(limit)" + (what.map { " " + $0 } ?? "")
        messages.warning(more + (limit < limits.upperBound ? ": raise --limit" : ", the most that are listed"))
    }
}

extension ClosedRange<Int> {
    /// Checks what `--limit` says.
    ///
    /// - Throws: `ValidationError`.
    func check(_ limit: Int) throws {
        if !contains(limit) { throw ValidationError("--limit must lie between \(lowerBound) and \(upperBound)") }
    }
}
