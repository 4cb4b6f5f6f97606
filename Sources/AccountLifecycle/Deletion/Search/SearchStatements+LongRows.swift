import Postgres

/// Rows that are sent in pieces.
///
/// On its way, a row is in libpq's buffer, in its result and in a string of ours, each time in full: a document of a
/// hundred megabytes, which anybody may have written, would use up the worker's memory.
extension SearchStatements {
    /// From how many bytes on a row is long; also the size of a piece.
    static let piece = 1 << 20

    /// How many bytes are sent with a piece on either side: for an identifier that begins in it, and for the text
    /// around it by which it is judged.
    private static let margin = 4096

    /// The condition of long rows: stored sizes cost nothing to read and rule most rows out, since neither compression
    /// method packs text to less than a 250th.
    static func isLong(_ table: SearchCatalog.Table) -> Statement {
        let columns = table.columns.filter { ![.uuid, .number].contains($0.form) }
        guard !columns.isEmpty else { return "false" }
        let stored = columns.map { "coalesce(pg_catalog.pg_column_size(searched.\(quoteIdentifier($0.name))), 0)" }
        let whole = columns.map { "octet_length(\(value($0)))::bigint" }
        return Statement(
            unsafeSQL: """
                (case
                    when \(stored.joined(separator: " + ")) < \(piece / 256) then false
                    else \(whole.joined(separator: " + ")) > \(piece)
                end)
                """
        )
    }

    /// Selects the values of long rows in pieces, one row after another: the row's place in the table, the index of the
    /// column, and how much of the piece is margin before it.
    func pieces(of table: SearchCatalog.Table, besides other: Statement) -> Statement {
        let values = table.columns.map(Self.value)
        let numbered = Statement(
            unsafeSQL: values.enumerated().map { "(\($0), \($1))" }.joined(separator: ", ")
        )
        let isCandidate: Statement =
            isLookedThroughByServer
            ? """
            exists (
                select
                from (values \(numbered)) as value (column_index, text)
                cross join lateral (select lower(value.text collate "C") collate "C" as lowered offset 0) as joined
                where \(holdsABeginning)
            )
            """ : "true"
        return """
            select
                searched.ctid::text,
                value.column_index,
                place.start - greatest(place.start - \(Int32(Self.margin)), 0),
                substring(
                    whole.bytes
                    from greatest(place.start - \(Int32(Self.margin)), 0) + 1
                    for \(Int32(Self.piece + 2 * Self.margin))
                ),
                \(other)
            from \(Self.rows(of: table))
            cross join lateral (values \(numbered)) as value (column_index, text)
            cross join lateral (select convert_to(value.text, 'UTF8') as bytes offset 0) as whole
            cross join lateral generate_series(0, octet_length(whole.bytes) - 1, \(Int32(Self.piece))) as place (start)
            where \(isSearched(table)) and \(Self.isLong(table)) and \(isCandidate)
            """
    }
}
