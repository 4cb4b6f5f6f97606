/// A job as a claim returned it.
package struct ClaimedJob: Sendable, Hashable {
    package let leased: JobLease
    let queue: String
    let kind: String
    let attempt: Int16
    let crashes: Int16
    let maxAttempts: Int16?
    let argumentsVersion: Int16
    let priority: Int16
    /// Microseconds since 1970 at which it became ready, by the server's clock: where the next claim of its lane may
    /// begin.
    let readyAt: Int64
    /// Microseconds it waited since then.
    let waited: Int64
    /// Whether it was to be cancelled while another worker held it.
    let isCancelled: Bool
    let arguments: String

    var id: Int64 { leased.id }
    var lease: Int64 { leased.lease }
}
