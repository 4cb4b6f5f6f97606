import Synchronization
import Terminal

/// Whether the process is alive and whether it can do its work.
///
/// *Live* says that restarting would help nothing; it looks at nothing outside the process, so that a database that is away does not
/// have every worker restarted. *Ready* asks each part.
package final class Health: Sendable {
    /// What a part says of itself.
    package enum Verdict: Sendable, Equatable {
        case ready
        /// Not now, for this reason: words that anybody may read.
        case notReady(String)
    }

    /// How ready the process is, part by part.
    package struct Report: Sendable, Equatable {
        package let parts: [String: Verdict]

        package var isReady: Bool { parts.values.allSatisfy { $0 == .ready } }

        /// `{"ready":false,"parts":{"database":"cannot be reached"}}`.
        package var json: String {
            var text = "{\"ready\":\(isReady),\"parts\":{"
            for (index, part) in parts.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                JSONText.quote(part.key, to: &text)
                text += ":"
                switch part.value {
                case .ready: text += "\"ready\""
                case .notReady(let reason): JSONText.quote(reason, to: &text)
                }
            }
            return text + "}}\n"
        }
    }

    private struct State {
        var checks: [String: @Sendable () async -> Verdict] = [:]
        var isStopping = false
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds a part; its check is run for each question and should answer within a second.
    package func add(_ name: String, check: @escaping @Sendable () async -> Verdict) {
        state.withLock { $0.checks[name] = check }
    }

    /// From now on not ready, so that no more work is sent here while it stops.
    package func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Asks every part.
    package func report() async -> Report {
        let (checks, isStopping) = state.withLock { ($0.checks, $0.isStopping) }
        var parts: [String: Verdict] = isStopping ? ["process": .notReady("stopping")] : [:]
        await withTaskGroup(of: (String, Verdict).self) { group in
            for (name, check) in checks { group.addTask { (name, await check()) } }
            for await (name, verdict) in group { parts[name] = verdict }
        }
        return Report(parts: parts)
    }
}
