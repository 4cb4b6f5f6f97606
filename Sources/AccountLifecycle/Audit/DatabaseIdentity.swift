package import Postgres

/// The identity of a database, as far as the database itself can tell.
///
/// It changes with a dump and restore and with an upgrade of the server. A physical copy keeps it, such as a clone or a
/// restored backup, and two servers that a host made from one image may share it. So different identities mean
/// different databases, but equal identities do not prove the same one.
package struct DatabaseIdentity: Sendable, Hashable, CustomStringConvertible {
    /// The system identifier of the server's data directory and the oid of the database in it.
    package let description: String

    /// Reads the identity of a database.
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
