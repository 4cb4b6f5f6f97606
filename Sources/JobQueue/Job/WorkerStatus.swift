import Postgres

/// The status of a worker, from the view `worker_status`.
package enum WorkerStatus: String, Codable, Sendable, PostgresDecodable {
    case alive
    /// It was asked to stop, and still works.
    case stopping
    /// No heartbeat came in time, and nobody has declared it lost yet.
    case silent
    /// It stopped and deregistered.
    case shutdown
    /// It was declared lost after its heartbeats stopped.
    case lost
}
