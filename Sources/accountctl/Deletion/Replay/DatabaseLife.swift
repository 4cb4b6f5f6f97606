import AccountLifecycle
import Postgres

/// A database on one of its server's timelines, of which a restore begins another, and so does a failover.
struct DatabaseLife: Hashable {
    let database: String
    let timeline: Int

    init(database: String, timeline: Int) {
        self.database = database
        self.timeline = timeline
    }

    /// Asks a database.
    ///
    /// - Throws: `PostgresError`.
    init(of identity: DatabaseIdentity, on connection: isolated Connection) throws {
        database = identity.description
        timeline = try connection.one("select timeline_id from pg_control_checkpoint()", as: Int.self)
    }
}
