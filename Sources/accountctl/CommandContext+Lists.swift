import Terminal

extension CommandContext {
    /// Writes a list of at most `limit` rows, and says when there are more.
    ///
    /// - Parameters:
    ///   - rows: one more than the limit where there are more.
    ///   - fields: the columns.
    ///   - limit: what `--limit` says.
    ///   - note: what people are told when the list is empty.
    ///   - output: where to, when it is not the command's own.
    /// - Throws: as `Output.list`.
    func list<Row>(
        _ rows: [Row],
        _ fields: [Field<Row>],
        limit: Int,
        whenEmpty note: String,
        to output: Output? = nil
    ) throws {
        try (output ?? self.output).list(rows.prefix(limit), fields, whenEmpty: note)
        if rows.count > limit { messages.warning("there are more than \(limit): raise --limit") }
    }
}
