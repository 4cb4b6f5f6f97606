import Postgres

/// A table that the database did not let be searched to its end, which keeps the erasure of every account from its own:
/// the server's error rarely says which it is.
struct FailedSearch: Error {
    /// `schema.table`.
    let table: String
    let cause: PostgresError
}
