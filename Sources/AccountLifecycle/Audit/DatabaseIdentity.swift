package import Postgres

/// Which database this is, as far as it can say so itself.
///
/// Another one after a dump and restore, and after an upgrade of the server. A copy of the files has the same, so a
/// clone or a backup that was restored, and so may two servers that a host made from one image: where it is another,
/// the database is another, but not the other way round.
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
