import Postgres

/// A table that the database did not let us search to the end, which keeps the erasure of every account from ending.
///
/// The server's own error rarely names the table.
struct FailedSearch: Error {
    /// `schema.table`.
    let table: String
    let cause: PostgresError
}
