package import HTTPCalls

/// The absence of a verdict for now; the same call may be made later.
package struct AppleDelay: Sendable, Hashable, CustomStringConvertible {
    /// Why there is no verdict.
    package enum Cause: Sendable, Hashable {
        /// The server could not be reached; no complete request was sent.
        case unreachable(HTTPOutcome.Unreachable)
        /// No answer before the deadline.
        case timedOut
        /// The connection closed before the answer.
        case interrupted
        /// HTTP 429.
        case throttled
        /// HTTP 5xx.
        case serverError(status: Int)
        /// An answer that is not from Apple's API: HTML from a CDN edge, a body that is too long, or JSON of another
        /// shape.
        case notUnderstood(status: Int)
        /// The breaker of this client id is open; nothing was sent.
        case breakerOpen
    }

    /// Why there is no verdict.
    package let cause: Cause
    /// How long Apple asks to wait, or the time until the breaker allows the next self-test.
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
        case .serverError(let status): "Apple failed (HTTP \(status))"
        case .notUnderstood(let status): "Apple's answer is not understood (HTTP \(status))"
        case .breakerOpen: "calls for this client id are paused, Apple rejects it"
        }
    }
}
