import Synchronization
import Terminal

/// Whether the process is alive and whether it can do its work.
///
/// *Live* says that restarting would help nothing; it looks at nothing outside the process, so that a database that is
/// away does not have every worker restarted. *Ready* asks each part.
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

    private struct Part {
        let check: @Sendable () async -> Verdict
        /// Whether the check runs.
        var isAsked = false
    }

    private struct State {
        var parts: [String: Part] = [:]
        var isStopping = false
        /// Callers that wait for answers.
        var askers: [Int: AsyncStream<(name: String, verdict: Verdict)>.Continuation] = [:]
        var serial = 0
    }

    private let patience: Duration
    private let state = Mutex(State())

    /// Makes one whose report waits this long for the parts: probes wait a second as a rule, and must hear the reason.
    package init(patience: Duration = .milliseconds(500)) {
        self.patience = patience
    }

    /// Adds a part; of its check one runs at a time, which all who ask meanwhile wait for, and which must end by
    /// itself.
    package func add(_ name: String, check: @escaping @Sendable () async -> Verdict) {
        state.withLock { $0.parts[name] = Part(check: check) }
    }

    /// From now on not ready, so that no more work is sent here while it stops.
    package func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Asks every part; one that does not answer in time is not ready.
    package func report() async -> Report {
        let (answers, asker) = AsyncStream.makeStream(of: (name: String, verdict: Verdict).self)
        let (id, names, isStopping) = state.withLock { state in
            state.serial += 1
            state.askers[state.serial] = asker
            return (state.serial, Set(state.parts.keys), state.isStopping)
        }
        defer { state.withLock { $0.askers[id] = nil } }
        for name in names { ask(name) }
        let alarm = Task(name: "health patience") { [patience] in
            try? await Task.sleep(for: patience, clock: .continuous)
            asker.finish()
        }
        defer { alarm.cancel() }
        var verdicts: [String: Verdict] = [:]
        if !names.isEmpty {
            for await (name, verdict) in answers {
                verdicts[name] = verdict
                if names.isSubset(of: verdicts.keys) { break }
            }
        }
        var parts = verdicts.merging(names.map { ($0, .notReady("gives no answer")) }) { answer, _ in answer }
        if isStopping { parts["process"] = .notReady("stopping") }
        return Report(parts: parts)
    }

    /// Starts the check of a part, unless it runs.
    ///
    /// Not a child task: a check that waits for something that hangs must keep no report from being made.
    private func ask(_ name: String) {
        let check = state.withLock { state -> (@Sendable () async -> Verdict)? in
            guard let part = state.parts[name], !part.isAsked else { return nil }
            state.parts[name]?.isAsked = true
            return part.check
        }
        guard let check else { return }
        Task(name: "health of \(name)") {
            let verdict = await check()
            let askers = state.withLock { state in
                state.parts[name]?.isAsked = false
                return Array(state.askers.values)
            }
            for asker in askers { asker.yield((name, verdict)) }
        }
    }
}
