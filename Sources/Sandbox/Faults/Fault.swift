/// A way in which a simulated service misbehaves.
package struct Fault: Sendable {
    /// The answer that the client receives.
    package enum Answer: Sendable {
        /// The service's genuine answer.
        case genuine
        /// A custom status and body.
        case status(Int, body: String = "", contentType: String = "application/json", retryAfter: String? = nil)
        /// An error in Apple's form: HTTP 400 and `{"error": code}`.
        case appleError(String, description: String? = nil)
        /// A handled error in Storage's form: HTTP 400, with the true status in the body.
        case storageError(StorageErrorBody)
        /// An HTML page such as gateways send.
        case html(status: Int)
        /// A well-formed success without content.
        case emptySuccess
        /// The service's genuine answer, although it did nothing.
        case pretendedSuccess
        /// No answer: the connection closes.
        case dropped
        /// Half of the body, then the connection closes.
        case truncated
    }

    /// Whether and when the request is carried out.
    package enum Effect: String, Sendable, Codable {
        /// The request is not carried out.
        case none
        /// The request is carried out before the fault, so the client cannot know the outcome.
        case before
        /// The request is carried out after the delay or the gate.
        case after
    }

    package var answer: Answer

    package var effect: Effect

    /// How long the client waits.
    var delay: Duration = .zero

    /// The gate at which the request waits until a test opens it.
    package var gate: FaultGate?

    /// How many requests the fault affects; nil means all until it is cleared.
    var times: Int?

    /// How many matching requests pass before the first one is affected.
    var sparing = 0

    /// Restricts the fault to requests with this client id (Apple) or bucket (Storage).
    var subject: String?

    /// The allowance of requests that pass.
    var allowance: Allowance?

    /// A number of requests per time span.
    struct Allowance: Sendable {
        let requests: Int
        let span: Duration
    }

    package init(_ answer: Answer, effect: Effect = .none) {
        self.answer = answer
        self.effect = effect
    }

    /// This fault, limited to a number of requests.
    package func times(_ count: Int, after sparing: Int = 0) -> Fault {
        var fault = self
        fault.times = count
        fault.sparing = sparing
        return fault
    }

    /// This fault, limited to one client id or bucket.
    package func only(for subject: String) -> Fault {
        var fault = self
        fault.subject = subject
        return fault
    }
}

extension Fault {
    /// An HTTP status with a custom JSON body.
    package static func status(_ status: Int, body: String = "", retryAfter: String? = nil) -> Fault {
        Fault(.status(status, body: body, retryAfter: retryAfter))
    }

    /// One of Apple's errors, such as `invalid_client`.
    package static func appleError(_ code: String, description: String? = nil) -> Fault {
        Fault(.appleError(code, description: description))
    }

    /// One of Storage's handled errors.
    static func storageError(_ body: StorageErrorBody) -> Fault {
        Fault(.storageError(body))
    }

    /// Storage's form of "try later": HTTP 400 with a body that says 503.
    package static var storageBusy: Fault {
        Fault(
            .storageError(
                .init(
                    statusCode: "503",
                    error: "Service Unavailable",
                    message: "Please reduce your request rate.",
                    code: "SlowDown"
                )
            )
        )
    }

    /// A gateway's HTML page.
    package static func html(status: Int = 502) -> Fault {
        Fault(.html(status: status))
    }

    /// An empty body under a status.
    package static func empty(status: Int = 200) -> Fault {
        Fault(.status(status, body: "", contentType: ""))
    }

    /// Truncated JSON under status 200.
    package static var malformed: Fault {
        Fault(.status(200, body: #"{"error": "#))
    }

    /// A success without content; nothing was done.
    package static var emptySuccess: Fault {
        Fault(.emptySuccess)
    }

    /// The answer of a success; nothing was done.
    package static var pretendedSuccess: Fault {
        Fault(.pretendedSuccess)
    }

    /// The connection closes without an answer, before or after the request was carried out.
    package static func drop(_ effect: Effect = .none) -> Fault {
        Fault(.dropped, effect: effect)
    }

    /// Half of the genuine answer, then the connection closes.
    package static var truncated: Fault {
        Fault(.truncated, effect: .before)
    }

    /// The genuine answer, delayed; the request is carried out before or after the delay.
    package static func delay(_ duration: Duration, effect: Effect = .before) -> Fault {
        var fault = Fault(.genuine, effect: effect)
        fault.delay = duration
        return fault
    }

    /// The genuine answer once the gate is open; the request is carried out before or after that.
    package static func hold(at gate: FaultGate, effect: Effect = .before) -> Fault {
        var fault = Fault(.genuine, effect: effect)
        fault.gate = gate
        return fault
    }

    /// A 429 with `Retry-After` for requests beyond an allowance.
    ///
    /// Apple does not document the form of this answer; clients must cope with any.
    package static func throttle(_ requests: Int, per span: Duration, retryAfter: Int = 1) -> Fault {
        var fault = Fault(.status(429, body: #"{"error":"too_many_requests"}"#, retryAfter: String(retryAfter)))
        fault.allowance = Allowance(requests: requests, span: span)
        return fault
    }
}
