import ArgumentParser
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
