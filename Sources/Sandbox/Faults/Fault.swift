/// One way in which a pretended service misbehaves.
package struct Fault: Sendable {
    /// What the client gets to see.
    package enum Answer: Sendable {
        /// What the service would have answered.
        case genuine
        /// A status and a body of one's own.
        case status(Int, body: String = "", contentType: String = "application/json", retryAfter: String? = nil)
        /// An error in Apple's form: HTTP 400 and `{"error": code}`.
        case appleError(String, description: String? = nil)
        /// A handled error in Storage's form: HTTP 400, the truth in the body.
        case storageError(StorageErrorBody)
        /// A page of the kind that gateways send.
        case html(status: Int)
        /// A success of the right shape with nothing in it.
        case emptySuccess
        /// What the service would have answered, although it does nothing.
        case pretendedSuccess
        /// No answer: the connection is closed.
        case dropped
        /// Half of the body, then the connection is closed.
        case truncated
    }

    /// Whether and when the request is carried out.
    package enum Effect: String, Sendable, Codable {
        /// The service does nothing.
        case none
        /// The service does its work, then the fault shows: the outcome is in doubt for the client.
        case before
        /// The delay or the gate comes first, then the service does its work.
        case after
    }

    package var answer: Answer

    package var effect: Effect

    /// How long the client waits.
    var delay: Duration = .zero

    /// Where the client waits until a test opens it.
    package var gate: FaultGate?

    /// How many requests the fault meets; nil means all until it is cleared.
    var times: Int?

    /// How many matching requests pass unharmed before the first one is met.
    var sparing = 0

    /// Meets only requests with this client id (Apple) or bucket (Storage).
    var subject: String?

    /// Requests within this allowance pass unharmed.
    var allowance: Allowance?

    /// So many requests in a span of time.
    struct Allowance: Sendable {
        let requests: Int
        let span: Duration

        init(requests: Int, per span: Duration) {
            self.requests = requests
            self.span = span
        }
    }

    package init(_ answer: Answer, effect: Effect = .none) {
        self.answer = answer
        self.effect = effect
    }

    /// The fault for a number of requests only.
    package func times(_ count: Int, after sparing: Int = 0) -> Fault {
        var fault = self
        fault.times = count
        fault.sparing = sparing
        return fault
    }

    /// The fault for one client id or bucket only.
    package func only(for subject: String) -> Fault {
        var fault = self
        fault.subject = subject
        return fault
    }
}

extension Fault {
    /// A bare HTTP status with a JSON body of one's own.
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

    /// Storage's way of saying "try later": HTTP 400 whose body says 503.
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

    /// A body that is cut off JSON under status 200.
    package static var malformed: Fault {
        Fault(.status(200, body: #"{"error": "#))
    }

    /// A success with nothing in it; nothing was done.
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

    /// Half of the true answer, then the connection closes.
    package static var truncated: Fault {
        Fault(.truncated, effect: .before)
    }

    /// The true answer, late; carried out before or after the wait.
    package static func delay(_ duration: Duration, effect: Effect = .before) -> Fault {
        var fault = Fault(.genuine, effect: effect)
        fault.delay = duration
        return fault
    }

    /// The true answer once the gate is open; carried out before or after it.
    package static func hold(at gate: FaultGate, effect: Effect = .before) -> Fault {
        var fault = Fault(.genuine, effect: effect)
        fault.gate = gate
        return fault
    }

    /// A 429 with `Retry-After` beyond an allowance.
    ///
    /// Apple publishes no form for this; clients must cope with any.
    package static func throttle(_ requests: Int, per span: Duration, retryAfter: Int = 1) -> Fault {
        var fault = Fault(.status(429, body: #"{"error":"too_many_requests"}"#, retryAfter: String(retryAfter)))
        fault.allowance = Allowance(requests: requests, per: span)
        return fault
    }
}
