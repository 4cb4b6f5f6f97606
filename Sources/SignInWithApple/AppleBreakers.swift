import HTTPCalls
import Logging
import Metrics
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The circuit breakers of all client ids, with Apple's last refusal of each.
final class AppleBreakers: Sendable {
    private struct State {
        var breakers: [String: CircuitBreaker] = [:]
        var refusals: [String: AppleRefusal] = [:]

        func breaker(of key: String) -> CircuitBreaker.State { breakers[key]?.state ?? .closed }
    }

    private let state = Mutex(State())
    /// Team id and key id by client id, for log entries.
    private let names: [String: (team: String, key: String)]

    init(identities: [AppleClientIdentity]) {
        names = Dictionary(identities.map { ($0.clientID, ($0.teamID, $0.keyID)) }) { first, _ in first }
    }

    /// Opens a breaker on the finding of another process.
    func trip(_ key: String, until: Date, refusal: String, at now: Date) {
        let isTripped = state.withLock { state in
            guard state.breaker(of: key) == .closed else { return false }
            state.breakers[key, default: CircuitBreaker()].trip(until: until, at: now)
            state.refusals[key] = AppleRefusal(code: .init(String(refusal.prefix { $0 != " " })))
            return true
        }
        if isTripped { record(key, isRejected: true) }
    }

    /// Closes a breaker on the finding of another process.
    func reset(_ key: String) {
        state.withLock { state in
            state.breakers[key]?.reset()
            state.refusals[key] = nil
        }
        record(key, isRejected: false)
    }

    private func record(_ key: String, isRejected: Bool) {
        var dimensions = [("client_id", key)]
        if let (team, keyID) = names[key] { dimensions += [("team_id", team), ("key_id", keyID)] }
        Gauge(label: "apple_client_rejected", dimensions: dimensions).record(isRejected ? 1 : 0)
    }

    func admit(_ key: String, at now: Date) -> CircuitBreaker.Admission {
        state.withLock { $0.breakers[key, default: CircuitBreaker()].admit(at: now) }
    }

    func abandon(_ key: String, _ permit: CircuitBreaker.Permit, at now: Date) {
        state.withLock { $0.breakers[key]?.abandon(permit, at: now) }
    }

    /// Reports the answer to a call that was sent with a permit.
    func settle(
        _ key: String,
        _ permit: CircuitBreaker.Permit,
        by answer: AppleAnswer,
        at now: Date,
        logger: Logger
    ) {
        let (before, after, refusal) = state.withLock { state in
            let before = state.breaker(of: key)
            switch answer.verdictOnClient {
            // A late answer, whose permit belongs to an earlier state, changes neither the breaker nor its reason.
            case .good:
                if state.breakers[key]?.succeed(permit) == true { state.refusals[key] = nil }
            case .rejected(let refusal):
                if state.breakers[key]?.fail(permit, at: now) == true { state.refusals[key] = refusal }
            case .none:
                state.breakers[key]?.abandon(permit, at: now)
            }
            return (before, state.breaker(of: key), state.refusals[key])
        }
        guard before != after else { return }
        if case .closed = after { record(key, isRejected: false) } else { record(key, isRejected: true) }
        if case .open(let until, _) = after {
            logger.error(
                "Apple rejects this client id; calls for it are paused",
                metadata: [
                    "client_id": "\(key)", "team_id": "\(names[key]?.team ?? "")", "key_id": "\(names[key]?.key ?? "")",
                    "reason": "\(refusal?.description ?? "")", "until": "\(until)",
                ]
            )
        } else if case .closed = after {
            logger.notice("Apple accepts this client id again", metadata: ["client_id": "\(key)"])
        }
    }

    /// Reports the result of a requested self-test, which closes or opens the breaker whatever its state.
    func settle(_ key: String, by answer: AppleAnswer, at now: Date, logger: Logger) {
        switch admit(key, at: now) {
        case .proceed(let permit), .probe(let permit): settle(key, permit, by: answer, at: now, logger: logger)
        case .refuse(let until):
            guard answer.verdictOnClient == .good, case .probe(let permit) = admit(key, at: until) else { return }
            settle(key, permit, by: answer, at: now, logger: logger)
        }
    }

    /// The state of a client id's breaker, and Apple's last refusal of it; nil while Apple accepts it.
    func health(of key: String) -> (state: CircuitBreaker.State, refusal: AppleRefusal?) {
        state.withLock { ($0.breaker(of: key), $0.refusals[key]) }
    }

    /// How long calls for this client id remain paused; nil unless the breaker is open.
    func pause(of key: String, at now: Date) -> Duration? {
        guard case .open(let until, _) = health(of: key).state else { return nil }
        return .seconds(max(0, until.timeIntervalSince(now)))
    }
}
