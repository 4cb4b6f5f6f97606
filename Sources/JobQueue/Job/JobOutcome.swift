#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// How an attempt at a job ended, as its handler says.
///
/// A thrown error counts as ``retry(after:reason:)`` without a wait of its own. Reasons are stored and shown: they name
/// what went wrong without personal data.
package enum JobOutcome: Sendable, Hashable {
    /// The work is done; `output` is kept in the history.
    case completed(output: JobDocument? = nil)
    /// The handler ended the job itself by ``JobContext/complete(output:on:)`` in a transaction that is committed.
    case completedInTransaction
    /// Not yet: run again at this time of the server's clock, as ``JobContext/now`` tells it. The attempt is given
    /// back.
    case snooze(until: Date)
    /// The attempt failed: run again after `after`, or after what the kind's policy says; given up where that says so,
    /// and no sooner than that says once a job that must not be given up has used up its usual attempts.
    case retry(after: Duration? = nil, reason: String)
    /// The work is not wanted any more.
    case cancelled(reason: String)
    /// The work can never be done.
    case discard(reason: String)
}
