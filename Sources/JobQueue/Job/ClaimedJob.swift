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
    /// When it became ready, in microseconds since 1970 by the server's clock: where the next claim of its lane may
    /// begin.
    let readyAt: Int64
    /// How long it waited after that, in microseconds.
    let waited: Int64
    /// Whether a cancel was requested while another worker held it.
    let isCancelled: Bool
    let arguments: String

    var id: Int64 { leased.id }
    var lease: Int64 { leased.lease }
}
