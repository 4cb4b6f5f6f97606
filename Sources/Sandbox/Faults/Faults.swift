import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The active faults.
package final class Faults: Sendable {
    /// Identifies an active fault.
    package typealias ID = Int

    private struct Rule {
        let id: ID
        let endpoint: Endpoint?
        let fault: Fault
        var remaining: Int?
        var spared: Int
        var window: (start: Date, count: Int)?

        /// Counts a request against the allowance; returns whether it was within the allowance.
        mutating func takeAllowance(_ allowance: Fault.Allowance, now: Date) -> Bool {
            var current = window ?? (start: now, count: 0)
            let age = Duration.seconds(now.timeIntervalSince(current.start))
            if age >= allowance.span { current = (start: now, count: 0) }
            current.count += 1
            window = current
            return current.count <= allowance.requests
        }
    }

    private struct State {
        var nextID = 1
        var rules: [Rule] = []
    }

    private let state = Mutex(State())

    init() {}

    /// Activates a fault for one endpoint, or for all; of several matching faults, the one set first applies.
    @discardableResult
    package func set(_ fault: Fault, for endpoint: Endpoint? = nil) -> ID {
        state.withLock { state in
            defer { state.nextID += 1 }
            state.rules.append(
                Rule(
                    id: state.nextID,
                    endpoint: endpoint,
                    fault: fault,
                    remaining: fault.times,
                    spared: fault.sparing
                )
            )
            return state.nextID
        }
    }

    /// Deactivates one fault; a request held at its gate continues.
    ///
    /// - Returns: whether it was active.
    @discardableResult
    package func clear(_ id: ID) -> Bool {
        let removed = state.withLock { state in
            guard let index = state.rules.firstIndex(where: { $0.id == id }) else { return Rule?.none }
            return state.rules.remove(at: index)
        }
        removed?.fault.gate?.open()
        return removed != nil
    }

    /// Deactivates all faults; requests held at their gates continue.
    package func clearAll() {
        let removed = state.withLock { state in
            defer { state.rules = [] }
            return state.rules
        }
        for rule in removed { rule.fault.gate?.open() }
    }

    /// The fault that applies to a request, whose remaining count is reduced by one.
    func next(for endpoint: Endpoint, subject: String?, now: Date) -> Fault? {
        state.withLock { state in
            for index in state.rules.indices {
                let rule = state.rules[index]
                guard
                    rule.endpoint == nil || rule.endpoint == endpoint,
                    rule.fault.subject == nil || rule.fault.subject == subject,
                    rule.remaining != 0
                else { continue }
                if rule.spared > 0 {
                    state.rules[index].spared -= 1
                    continue
                }
                if let allowance = rule.fault.allowance, state.rules[index].takeAllowance(allowance, now: now) {
                    continue
                }
                if let remaining = rule.remaining { state.rules[index].remaining = remaining - 1 }
                return rule.fault
            }
            return nil
        }
    }
}
