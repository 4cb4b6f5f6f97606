package import Postgres

/// Which database this is: a name that no other one has.
///
/// A copy made by a dump and restore has another one, and so has the same server after an upgrade.
package struct DatabaseIdentity: Sendable, Hashable, CustomStringConvertible {
    /// The number of the server's data directory and that of the database in it.
    package let description: String

    /// Asks a database who it is.
    ///
    /// - Throws: `PostgresError`.
    package static func read(on connection: isolated Connection) throws -> DatabaseIdentity {
        DatabaseIdentity(
            description: try connection.one(
                """
                select (select system_identifier from pg_control_system()) || '.' || oid
                from pg_database
                where datname = current_database()
                """,
                as: String.self
            )
        )
    }
}
