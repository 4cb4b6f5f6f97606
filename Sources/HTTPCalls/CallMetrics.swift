import Metrics

/// Metrics about calls, with labels and outcomes but without paths or hosts that the configuration does not name.
enum CallMetrics {
    static func record(_ outcome: HTTPOutcome, label: String, took duration: Duration) {
        let dimensions = [("call", label), ("outcome", name(of: outcome))]
        Counter(label: "http_client_calls_total", dimensions: dimensions).increment()
        Timer(label: "http_client_call_seconds", dimensions: [("call", label)]).record(duration: duration)
    }

    static func recordRepeat(label: String) {
        Counter(label: "http_client_repeats_total", dimensions: [("call", label)]).increment()
    }

    static func name(of outcome: HTTPOutcome) -> String {
        switch outcome {
        case .reply(let reply): String(reply.status)
        case .replyTooLarge: "too_large"
        case .timedOut: "timed_out"
        case .interrupted: "interrupted"
        case .unreachable(let reason): reason.rawValue
        }
    }
}
