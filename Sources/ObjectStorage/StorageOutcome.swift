package import HTTPCalls

/// The outcome of a call to the Storage service.
package enum StorageOutcome<Value: Sendable>: Sendable {
    /// The call succeeded.
    case done(Value)
    /// The object or bucket does not exist.
    case gone(StorageRefusal)
    /// Our key, address or request is at fault; a retry changes nothing.
    case misconfigured(StorageRefusal)
    /// No verdict for now; the call may be repeated, a delete only after its objects have been checked again.
    case later(StorageDelay)
}

extension StorageOutcome: Equatable where Value: Equatable {}

/// The absence of a verdict for now; the same call may be made later.
package struct StorageDelay: Sendable, Hashable, CustomStringConvertible {
    /// Why there is no verdict.
    package enum Cause: Sendable, Hashable {
        /// The service could not be reached; no complete request was sent.
        case unreachable(HTTPOutcome.Unreachable)
        /// No answer before the deadline.
        case timedOut
        /// The connection closed before the answer.
        case interrupted
        /// The service refused the call for now.
        case refused(StorageRefusal)
        /// Another version replaced the object while it was read.
        case replaced
        /// An answer that is not from the service's API: a gateway's page, a body that is too long, or JSON of another
        /// shape.
        case notUnderstood(status: Int)
    }

    /// Why there is no verdict.
    let cause: Cause
    /// How long the service asks to wait.
    package let retryAfter: Duration?

    /// A delay.
    package init(_ cause: Cause, retryAfter: Duration? = nil) {
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// Whether the service, or a gateway in front of it, turned the call away, so that most likely nothing was done.
    var isTurnedAway: Bool {
        switch cause {
        case .refused(let refusal): refusal.status == 429 || refusal.status == 503
        case .notUnderstood(let status): status == 429 || status == 503
        case .unreachable, .timedOut, .interrupted, .replaced: false
        }
    }

    /// Whether the call may have asked for more than the service could do in its time.
    var mayBeOfSize: Bool {
        guard retryAfter == nil else { return false }
        return switch cause {
        case .timedOut, .interrupted: true
        case .refused: !isTurnedAway
        case .notUnderstood(let status): status >= 500 && !isTurnedAway
        case .unreachable, .replaced: false
        }
    }

    /// The cause in a few words.
    package var description: String {
        switch cause {
        case .unreachable(let reason): "storage cannot be reached: \(reason)"
        case .timedOut: "storage did not answer in time"
        case .interrupted: "the connection to storage was lost"
        case .refused(let refusal): "storage asks to try again later: \(refusal)"
        case .replaced: "the object was replaced while it was read"
        case .notUnderstood(let status) where status >= 500: "storage failed (HTTP \(status))"
        case .notUnderstood(let status): "storage's answer is not understood (HTTP \(status))"
        }
    }
}
