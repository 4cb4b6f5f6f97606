package import HTTPCalls

/// No verdict now, and the same call may be made later.
package struct AppleDelay: Sendable, Hashable, CustomStringConvertible {
    /// Why there is no verdict.
    package enum Cause: Sendable, Hashable {
        /// Nothing was sent.
        case unreachable(HTTPOutcome.Unreachable)
        /// No answer in time.
        case timedOut
        /// The connection ended before the answer.
        case interrupted
        /// HTTP 429.
        case throttled
        /// HTTP 5xx.
        case serverError(status: Int)
        /// An answer that is not Apple's API: HTML from the edge, a body too long, JSON of another shape.
        case notUnderstood(status: Int)
        /// The breaker of this client id is open; nothing was sent.
        case breakerOpen
    }

    /// Why there is no verdict.
    package let cause: Cause
    /// How long Apple asks to wait, or until the breaker tests itself again.
    package let retryAfter: Duration?

    /// A delay.
    init(_ cause: Cause, retryAfter: Duration? = nil) {
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// The cause in a few words.
    package var description: String {
        switch cause {
        case .unreachable(let reason): "Apple cannot be reached: \(reason)"
        case .timedOut: "Apple did not answer in time"
        case .interrupted: "the connection to Apple was lost"
        case .throttled: "Apple asks for fewer calls"
        case .serverError(let status): "Apple has a problem (HTTP \(status))"
        case .notUnderstood(let status): "Apple's answer is not understood (HTTP \(status))"
        case .breakerOpen: "calls for this client id are paused, Apple rejects it"
        }
    }
}
