import Postgres

/// A job under one of its leases, which a worker holds.
///
/// The lease number would be enough if it never repeated. After a failover that loses the end of the log, lease numbers
/// and job ids are given out again; worker ids are random.
package struct JobLease: Sendable, Hashable {
    let id: Int64
    let lease: Int64
    let worker: Int64

    /// What is said of it in a JSON object that says something of each of several jobs.
    func member(_ json: String) -> String { "\"\(id)/\(lease)/\(worker)\":\(json)" }

    /// The name of that member, of a row of jobs or of the history.
    static let memberName: Statement = "(id || '/' || lease || '/' || worker)"
}
