import Postgres

/// How a worker stands, by the view of that name.
package enum WorkerStatus: String, Codable, Sendable, PostgresDecodable {
    case alive
    /// It was asked to end, and still works.
    case stopping
    /// No heartbeat came in time, and nobody has taken it for lost yet.
    case silent
    /// It said goodbye.
    case shutdown
    /// Its heartbeat ceased.
    case lost
}
