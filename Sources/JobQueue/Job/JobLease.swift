import Postgres

/// A job under one of its leases.
///
/// The number alone would do, if none came twice: a failover that loses the end of the log gives some out again.
package struct JobLease: Sendable, Hashable {
    package let id: Int64
    package let lease: Int64

    /// What is said of it in a JSON object that says something of each of several jobs.
    func member(_ json: String) -> String { "\"\(id)/\(lease)\":\(json)" }

    /// The name of that member, of a row of jobs or of the history.
    static let memberName: Statement = "(id || '/' || lease)"
}
