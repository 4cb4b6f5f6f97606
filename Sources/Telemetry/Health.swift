import Synchronization
import Terminal

/// Whether the process is alive and whether it can do its work.
///
/// *Live* means that a restart would not help. It checks nothing outside the process, so that an unreachable database
/// does not get every worker restarted. *Ready* asks each part.
package final class Health: Sendable {
    /// The state of a part.
    package enum Verdict: Sendable, Equatable {
        case ready
        /// Not ready, for this reason, which anybody may read.
        case notReady(String)
    }

    /// The readiness of the process, part by part.
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
        /// Whether the check is running.
        var isAsked = false
    }

    private struct State {
        var parts: [String: Part] = [:]
        var isStopping = false
        /// Callers waiting for answers.
        var askers: [Int: AsyncStream<(name: String, verdict: Verdict)>.Continuation] = [:]
        var serial = 0
    }

    private let patience: Duration
    private let state = Mutex(State())

    /// Creates a health check whose reports wait this long for the parts: probes usually wait a second, and have to get
    /// the reason.
    package init(patience: Duration = .milliseconds(500)) {
        self.patience = patience
    }

    /// Adds a part.
    ///
    /// Its check runs once at a time, shared by all callers that ask meanwhile, and must end by itself.
    package func add(_ name: String, check: @escaping @Sendable () async -> Verdict) {
        state.withLock { $0.parts[name] = Part(check: check) }
    }

    /// Makes the process not ready from now on, so that no more work is sent here while it stops.
    package func stop() {
        state.withLock { $0.isStopping = true }
    }

    /// Asks every part; a part that does not answer in time is not ready.
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

    /// Starts the check of a part, unless it is already running.
    ///
    /// Not a child task: a check that hangs must not keep a report from being made.
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
