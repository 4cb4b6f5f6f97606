import Postgres

extension Stage {
    /// Renames a column that refers to accounts, and gives its name to a new one that does, as a migration of an app
    /// may.
    func reuseName(of column: String, in table: String, renaming former: String) async throws {
        let place: Statement = "public.\(identifier: table)"
        try await sql("alter table \(place) rename \(identifier: column) to \(identifier: former)")
        try await sql("alter table \(place) add \(identifier: column) uuid references auth.users on delete set null")
    }
}
