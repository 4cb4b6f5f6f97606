#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The outcome of an attempt, as its handler returns it.
///
/// A thrown error counts as ``retry(after:reason:)`` without a wait of its own. Reasons are stored and shown: they say
/// what went wrong without personal data.
package enum JobOutcome: Sendable, Hashable {
    /// The work is done; `output` is kept in the history.
    case completed(output: JobDocument? = nil)
    /// The handler ended the job itself with ``JobContext/complete(output:on:)`` in a committed transaction.
    case completedInTransaction
    /// Not done yet: run again at this time by the server's clock, as given by ``JobContext/now``. The attempt does not
    /// count.
    case snooze(until: Date)
    /// The attempt failed: run again after `after`, or after the wait of the kind's policy, unless the policy discards
    /// the job. A job that must not be discarded and has used up its usual attempts waits at least as long as the
    /// policy says. If the handler was told to stop because the worker shuts down, the attempt does not count, and
    /// without `after` the job is available at once.
    case retry(after: Duration? = nil, reason: String)
    /// The work is no longer wanted.
    case cancelled(reason: String)
    /// The work can never be done.
    case discard(reason: String)
}
