import HTTPCalls
import Logging
import Metrics
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The breakers of all client ids, and what Apple said last about each.
final class AppleBreakers: Sendable {
    private struct State {
        var breakers: CircuitBreakers
        var refusals: [String: AppleRefusal] = [:]
    }

    private let state: Mutex<State>

    init(policy: CircuitBreaker.Policy) {
        state = Mutex(State(breakers: CircuitBreakers(policy: policy)))
    }

    func admit(_ key: String, at now: Date) -> CircuitBreaker.Admission {
        state.withLock { $0.breakers.admit(key, at: now) }
    }

    func abandon(_ key: String, _ permit: CircuitBreaker.Permit, at now: Date) {
        state.withLock { $0.breakers.abandon(key, permit, at: now) }
    }

    /// Reports an answer that a permit was given for.
    func settle(
        _ key: String,
        _ permit: CircuitBreaker.Permit,
        by answer: AppleAnswer,
        at now: Date,
        logger: Logger? = nil
    ) {
        let (before, after) = state.withLock { state in
            let before = state.breakers.state(of: key)
            switch answer.verdictOnClient {
            case .good:
                state.breakers.succeed(key, permit)
                state.refusals[key] = nil
            case .rejected(let refusal):
                state.breakers.fail(key, permit, at: now)
                state.refusals[key] = refusal
            case .none:
                state.breakers.abandon(key, permit, at: now)
            }
            return (before, state.breakers.state(of: key))
        }
        guard before != after else { return }
        let isOpen = if case .closed = after { 0 } else { 1 }
        Gauge(label: "apple_client_rejected", dimensions: [("client_id", key)]).record(isOpen)
        if case .open(let until, _) = after {
            logger?.error(
                "Apple rejects this client id; calls for it are paused",
                metadata: ["client_id": "\(key)", "until": "\(until)"]
            )
        } else if case .closed = after {
            logger?.notice("Apple takes this client id again", metadata: ["client_id": "\(key)"])
        }
    }

    /// Reports a self-test that somebody asked for: it decides, whatever the breaker's state.
    func settle(_ key: String, by answer: AppleAnswer, at now: Date) {
        switch admit(key, at: now) {
        case .proceed(let permit), .probe(let permit): settle(key, permit, by: answer, at: now)
        case .refuse(let until):
            guard answer.verdictOnClient == .good, case .probe(let permit) = admit(key, at: until) else { return }
            settle(key, permit, by: answer, at: now)
        }
    }

    func health(of key: String) -> (state: CircuitBreaker.State, refusal: AppleRefusal?) {
        state.withLock { ($0.breakers.state(of: key), $0.refusals[key]) }
    }

    /// How long calls for this client id stay paused.
    func pause(of key: String, at now: Date) -> Duration? {
        guard case .open(let until, _) = health(of: key).state else { return nil }
        return .seconds(max(0, until.timeIntervalSince(now)))
    }
}
