import AccountLifecycle
import Postgres

/// A database on one timeline of its server; a restore or a failover begins a new timeline.
struct DatabaseLife: Hashable {
    let database: String
    let timeline: Int

    init(database: String, timeline: Int) {
        self.database = database
        self.timeline = timeline
    }

    /// Reads the current timeline from the database.
    ///
    /// - Throws: `PostgresError`.
    init(of identity: DatabaseIdentity, on connection: isolated Connection) throws {
        database = identity.description
        timeline = try connection.one("select timeline_id from pg_control_checkpoint()", as: Int.self)
    }
}
