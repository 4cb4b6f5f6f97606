package import Postgres

/// Skips numbers of receipts that the list of erasures names: a restored database would give them to somebody else.
extension DeletionDesk {
    /// The numbers that would be skipped now; changes nothing.
    ///
    /// - Returns: The numbers; nil if there are none.
    /// - Throws: `PostgresError`.
    package static func receiptsToSkip(
        upTo number: Int64,
        on connection: isolated Connection
    ) throws -> ClosedRange<Int64>? {
        let first = try connection.first(
            """
            with upcoming as materialized (\(upcoming))
            select number
            from upcoming
            where number <= \(number)
            """,
            as: Int64.self
        )
        return first.map { $0...number }
    }

    /// Prevents receipts from getting a number up to this one.
    ///
    /// Numbers are skipped, never reused, and stay skipped if the transaction is rolled back.
    ///
    /// - Returns: The numbers that were skipped; nil if there were none.
    /// - Throws: `PostgresError`.
    package static func skipReceipts(
        upTo number: Int64,
        on connection: isolated Connection
    ) async throws -> ClosedRange<Int64>? {
        try await connection.transaction { connection in
            // A receipt that is being written got its number before the sequence is read, or gets one afterwards.
            try connection.execute("lock table accountctl.deletion_receipts in share row exclusive mode")
            guard let skipped = try receiptsToSkip(upTo: number, on: connection) else { return nil }
            try connection.execute("select setval('accountctl.deletion_receipts_number_seq', \(number))")
            return skipped
        }
    }

    /// A query for the number of the next receipt.
    private static let upcoming: Statement = """
        select last_value + case when is_called then 1 else 0 end as number
        from accountctl.deletion_receipts_number_seq
        """
}
