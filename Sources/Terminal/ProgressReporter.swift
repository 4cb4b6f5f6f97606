import Synchronization

/// Shows progress on standard error: a redrawn line on a terminal, elsewhere a plain line from time to time.
package final class ProgressReporter: Sendable {
    private let label: String
    private let total: Int?
    private let messages: Messages
    private let elapsed: @Sendable () -> Duration
    private let lastShown = Mutex<Duration?>(nil)

    /// Creates a reporter.
    ///
    /// - Parameters:
    ///   - label: the operation.
    ///   - total: the amount of work, if known.
    ///   - messages: where the line is shown.
    ///   - elapsed: the time since the start.
    package init(_ label: String, total: Int?, messages: Messages, elapsed: (@Sendable () -> Duration)? = nil) {
        self.label = label
        self.total = total
        self.messages = messages
        let start = ContinuousClock.now
        self.elapsed = elapsed ?? { ContinuousClock.now - start }
    }

    /// Reports how much is done; cheap enough to be called for every item, since most calls show nothing.
    package func update(_ done: Int) {
        show(done, force: false)
    }

    /// Shows the final state and ends the line.
    package func finish(_ done: Int) {
        show(done, force: true)
        messages.leaveLine()
    }

    private func show(_ done: Int, force: Bool) {
        let now = elapsed()
        let redraws = messages.style.redraws
        let pause: Duration = redraws ? .milliseconds(100) : .seconds(10)
        lastShown.withLock { lastShown in
            if !force {
                if let last = lastShown, now - last < pause { return }
                // Off a terminal, a short operation should not write to a log.
                if lastShown == nil, !redraws, now < pause { return }
            }
            if force, !redraws, lastShown == nil { return }
            lastShown = now
            let line = ProgressLine(label: label, done: done, total: total, elapsed: now).text()
            if redraws {
                messages.redraw(line)
            } else {
                messages.raw(line + "\n")
            }
        }
    }
}
