import Postgres

/// A job under one of its leases, held by a worker.
///
/// The lease number alone would do if it never repeated. After a failover that loses the end of the WAL, lease numbers
/// and job ids are given out again; worker ids are random.
package struct JobLease: Sendable, Hashable {
    let id: Int64
    let lease: Int64
    let worker: Int64

    /// The member for this job in a JSON object that holds a value for each of several jobs.
    func member(_ json: String) -> String { "\"\(id)/\(lease)/\(worker)\":\(json)" }

    /// The name of that member, for a row of the jobs or of the history.
    static let memberName: Statement = "(id || '/' || lease || '/' || worker)"
}
