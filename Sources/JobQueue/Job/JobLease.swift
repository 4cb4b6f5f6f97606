/// A job under one of its leases.
///
/// The number alone would do, if none came twice: a failover that loses the end of the log gives some out again.
struct JobLease: Sendable, Hashable {
    let id: Int64
    let lease: Int64
}
