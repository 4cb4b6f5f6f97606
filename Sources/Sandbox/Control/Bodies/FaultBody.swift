#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `POST /control/faults`: a fault as JSON.
struct FaultBody: Decodable {
    enum Kind: String, Decodable {
        case status, html, empty, malformed, truncated, drop, delay, hold, throttle
        case appleError = "apple-error"
        case storageError = "storage-error"
        case emptySuccess = "empty-success"
        case pretendedSuccess = "pretended-success"
    }

    let kind: Kind
    /// The endpoint; nil means every endpoint.
    let endpoint: Endpoint?
    let effect: Fault.Effect?
    let times: Int?
    let sparing: Int?
    /// The client id or bucket that the fault applies to; all if missing.
    let subject: String?
    let status: Int?
    let body: String?
    let retryAfter: String?
    /// The code of an Apple error.
    let code: String?
    let storageError: StorageErrorBody?
    let delaySeconds: ControlSeconds?
    let requests: Int?
    let perSeconds: ControlSeconds?

    enum CodingKeys: String, CodingKey {
        case kind, endpoint, effect, times, sparing, subject, status, body, code, requests
        case retryAfter = "retry_after"
        case storageError = "storage_error"
        case delaySeconds = "delay_seconds"
        case perSeconds = "per_seconds"
    }

    func fault() throws -> Fault {
        var fault = try bare()
        if let effect { fault.effect = effect }
        if let delaySeconds { fault.delay = delaySeconds.duration }
        if let times, times < 0 { throw SandboxError("times must not be negative") }
        fault.times = times
        fault.sparing = sparing ?? 0
        fault.subject = subject
        return fault
    }

    private func bare() throws -> Fault {
        if let status, !(200...999).contains(status) {
            throw SandboxError("status must be between 200 and 999: after one of 100 to 199, HTTP has another answer")
        }
        return switch kind {
        case .status: .status(try need(status, "status"), body: body ?? "", retryAfter: retryAfter)
        case .html: .html(status: status ?? 502)
        case .empty: .empty(status: status ?? 200)
        case .malformed: .malformed
        case .truncated: .truncated
        case .drop: .drop(effect ?? .none)
        case .delay: .delay(try need(delaySeconds, "delay_seconds").duration)
        case .hold: .hold(at: FaultGate())
        case .throttle:
            .throttle(
                try need(requests, "requests"),
                per: try need(perSeconds, "per_seconds").duration,
                retryAfter: retryAfter.flatMap(Int.init) ?? 1
            )
        case .appleError: .appleError(try need(code, "code"))
        case .storageError: storageError.map { .storageError($0) } ?? .storageBusy
        case .emptySuccess: .emptySuccess
        case .pretendedSuccess: .pretendedSuccess
        }
    }

    private func need<Value>(_ value: Value?, _ name: String) throws -> Value {
        guard let value else { throw SandboxError("a fault of kind \(kind.rawValue) needs \(name)") }
        return value
    }
}
