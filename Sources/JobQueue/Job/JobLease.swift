import Postgres

/// A job under one of its leases, which a worker holds.
///
/// The number of the lease alone would do, if none came twice: a failover that loses the end of the log gives some out
/// again, and ids of jobs with them. Ids of workers are drawn by lot.
package struct JobLease: Sendable, Hashable {
    let id: Int64
    let lease: Int64
    let worker: Int64

    /// What is said of it in a JSON object that says something of each of several jobs.
    func member(_ json: String) -> String { "\"\(id)/\(lease)/\(worker)\":\(json)" }

    /// The name of that member, of a row of jobs or of the history.
    static let memberName: Statement = "(id || '/' || lease || '/' || worker)"
}
